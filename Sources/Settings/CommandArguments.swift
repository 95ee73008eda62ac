/// A command line, understood.
package struct CommandArguments: Equatable, Sendable {
    package internal(set) var operands: [String] = []
    var options: [String: [String]] = [:]

    package var isHelpWanted: Bool { isSet("help") }

    package func isSet(_ option: String) -> Bool {
        options[option] != nil
    }

    /// The argument of an option, nil where it was not given.
    package func value(_ option: String) -> String? {
        options[option]?.last
    }

    /// The arguments of a repeatable option.
    package func values(_ option: String) -> [String] {
        options[option] ?? []
    }

    /// The argument of an option as a value of a setting's kind.
    package func value<Value>(
        _ option: String,
        as kind: SettingKind<Value>
    ) throws(UsageError) -> Value? {
        try values(option, as: kind).last
    }

    /// The arguments of a repeatable option as values of a setting's kind.
    package func values<Value>(
        _ option: String,
        as kind: SettingKind<Value>
    ) throws(UsageError) -> [Value] {
        try values(option).map { text throws(UsageError) in
            do {
                return try kind.read(.text(text))
            } catch {
                throw UsageError("--\(option): expected \(kind.expected), found \"\(text)\"")
            }
        }
    }
}
