/// One option of a command line, in GNU's style.
package struct CommandOption: Sendable {
    /// Without the dashes.
    package let long: String
    package let short: Character?

    /// What stands for the argument in the help; nil for a flag.
    package let argument: String?
    package let isRepeatable: Bool
    package let sentence: String

    package init(
        _ long: String,
        short: Character? = nil,
        argument: String? = nil,
        isRepeatable: Bool = false,
        _ sentence: String
    ) {
        self.long = long
        self.short = short
        self.argument = argument
        self.isRepeatable = isRepeatable
        self.sentence = sentence
    }

    static let help = CommandOption("help", short: "h", "Show this text.")

    var usage: String {
        let short = short.map { "-\($0), " } ?? "    "
        return short + "--\(long)" + (argument.map { "=\($0)" } ?? "")
    }
}
