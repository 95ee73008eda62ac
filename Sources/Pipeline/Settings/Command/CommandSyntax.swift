/// The declaration of a command line, used for parsing and `--help`.
///
/// Options follow GNU: `--limit=5`, `--limit 5`, `-l5`, `-l 5`, `-jv`, unambiguous prefixes of long
/// names, options after operands, and `--` before operands that begin with a dash.
package struct CommandSyntax: Sendable {
    /// The command as typed, such as `dead-letter list`.
    package let command: String
    package let summary: String

    /// The operands' name in the help, such as `ID…`; empty if the command takes no operand.
    package let operands: String
    package let operandCount: ClosedRange<Int>
    package let options: [CommandOption]

    package init(
        _ command: String, _ summary: String, operands: String = "", operandCount: ClosedRange<Int> = 0...0,
        options: [CommandOption] = []
    ) {
        self.command = command
        self.summary = summary
        self.operands = operands
        self.operandCount = operandCount
        self.options = options + [.help]
    }

    package var help: String {
        let operands = operands.isEmpty ? "" : " \(operands)"
        return "Usage: \(command) [OPTION]…\(operands)\n\n" + TextLayout.wrapped(summary, indent: 0) + "\nOptions:\n"
            + TextLayout.columns(options.map { ($0.usage, $0.sentence) })
    }

    /// Parses the arguments that follow the command's name.
    ///
    /// The number of operands is not checked if `--help` is among the arguments.
    package func parse(_ arguments: some Sequence<String>) throws(UsageError) -> CommandArguments {
        var parsed = CommandArguments()
        var rest = Array(arguments)[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                parsed.operands += rest
                break
            }
            if argument.hasPrefix("--") {
                try parseLong(argument.dropFirst(2), &rest, into: &parsed)
            } else if argument.hasPrefix("-"), argument.count > 1 {
                try parseShort(argument.dropFirst(), &rest, into: &parsed)
            } else {
                parsed.operands.append(argument)
            }
        }
        if !parsed.isHelpWanted, !operandCount.contains(parsed.operands.count) { throw operandError(parsed.operands) }
        return parsed
    }

    private func parseLong(_ text: Substring, _ rest: inout ArraySlice<String>, into parsed: inout CommandArguments)
        throws(UsageError)
    {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let option = try option(named: String(parts[0]))
        guard option.argument != nil else {
            guard parts.count == 1 else { throw UsageError("--\(option.long) takes no argument") }
            return try add("", to: option, &parsed)
        }
        try add(parts.count == 2 ? String(parts[1]) : try next(&rest, for: option), to: option, &parsed)
    }

    private func parseShort(_ text: Substring, _ rest: inout ArraySlice<String>, into parsed: inout CommandArguments)
        throws(UsageError)
    {
        var letters = text
        while let letter = letters.popFirst() {
            guard let option = options.first(where: { $0.short == letter }) else {
                throw UsageError("there is no option -\(letter)")
            }
            guard option.argument != nil else {
                try add("", to: option, &parsed)
                continue
            }
            let value = letters.isEmpty ? try next(&rest, for: option) : String(letters)
            return try add(value, to: option, &parsed)
        }
    }

    private func option(named name: String) throws(UsageError) -> CommandOption {
        if let exact = options.first(where: { $0.long == name }) { return exact }
        let candidates = options.filter { !name.isEmpty && $0.long.hasPrefix(name) }
        if let only = candidates.first, candidates.count == 1 { return only }
        guard candidates.isEmpty else {
            let names = candidates.map { "--\($0.long)" }.joined(separator: ", ")
            throw UsageError("--\(name) may mean \(names)")
        }
        let hint = Spelling.suggestion(for: name, among: options.map(\.long)).map { ", did you mean --\($0)?" }
        throw UsageError("there is no option --\(name)\(hint ?? "")")
    }

    private func next(_ rest: inout ArraySlice<String>, for option: CommandOption) throws(UsageError) -> String {
        guard let value = rest.popFirst() else {
            throw UsageError("--\(option.long) needs an argument: \(option.argument ?? "")")
        }
        return value
    }

    private func add(_ value: String, to option: CommandOption, _ parsed: inout CommandArguments) throws(UsageError) {
        if option.argument != nil, !option.isRepeatable, parsed.isSet(option.long) {
            throw UsageError("--\(option.long) is given twice")
        }
        parsed.options[option.long, default: []].append(value)
    }

    private func operandError(_ found: [String]) -> UsageError {
        guard found.count > operandCount.upperBound else { return UsageError("missing operand: expected \(operands)") }
        let surplus = found[operandCount.upperBound]
        return UsageError("unexpected operand \"\(surplus)\"")
    }
}

/// An option of a command line, in GNU style.
package struct CommandOption: Sendable {
    /// The long name, without the dashes.
    package let long: String
    package let short: Character?

    /// The argument's name in the help.
    ///
    /// `nil` for a flag.
    package let argument: String?
    /// The allowed values; empty if any value is allowed.
    package let choices: [String]
    package let isRepeatable: Bool
    package let sentence: String

    package init(
        _ long: String, short: Character? = nil, argument: String? = nil, choices: [String] = [],
        isRepeatable: Bool = false, _ sentence: String
    ) {
        self.long = long
        self.short = short
        self.argument = argument
        self.choices = choices
        self.isRepeatable = isRepeatable
        self.sentence = sentence
    }

    static let help = CommandOption("help", short: "h", "Show this text.")

    var usage: String {
        let short = short.map { "-\($0), " } ?? "    "
        return short + "--\(long)" + (argument.map { "=\($0)" } ?? "")
    }
}

/// A parsed command line.
package struct CommandArguments: Equatable, Sendable {
    package var operands: [String] = []
    package var options: [String: [String]] = [:]

    package var isHelpWanted: Bool { isSet("help") }

    package func isSet(_ option: String) -> Bool { options[option] != nil }

    /// The last argument of an option.
    ///
    /// `nil` if the option was not given.
    package func value(_ option: String) -> String? { options[option]?.last }

    /// The arguments of a repeatable option.
    package func values(_ option: String) -> [String] { options[option] ?? [] }
}

/// An error for an invalid command line; ends a program with `ExitCode.usage`.
package struct UsageError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A message with the fault and what was expected.
    package let message: String

    package init(_ message: String) { self.message = message }

    package var description: String { message }
}
