package import Settings

extension CommandSyntax {
    /// The words of the command's name without the tool's name, such as `catalog` and `check`.
    var nameWords: [String] { command.split(separator: " ").dropFirst().map(String.init) }

    /// The summary's first sentence.
    package var sentence: String {
        var end = summary.startIndex
        while let dot = summary[end...].firstIndex(of: ".") {
            end = summary.index(after: dot)
            if end == summary.endIndex || summary[end].isWhitespace { break }
        }
        return String(summary[..<end])
    }
}

extension CommandSyntax {
    /// Returns the command line of these arguments, quoted for a POSIX shell.
    package func line(_ arguments: CommandArguments) -> String {
        var words = command.split(separator: " ").map(String.init)
        for option in options {
            words += arguments.values(option.long).map { value in
                "--\(option.long)" + (option.argument == nil ? "" : "=\(value)")
            }
        }
        let isDashed = arguments.operands.contains { $0.hasPrefix("-") && $0 != "-" }
        words += (isDashed ? ["--"] : []) + arguments.operands
        return words.map(Self.quoted).joined(separator: " ")
    }

    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-_./:,=@%+".utf8.contains(byte)
            }
        }
        guard !isPlain || word.isEmpty else { return word }
        return word.quotedForShell
    }
}

extension String {
    /// The text in quotes for a POSIX shell.
    ///
    /// The shell reads bytes, so a quote with a combining accent also ends a text.
    package var quotedForShell: String {
        let parts = unicodeScalars.split(separator: "'", omittingEmptySubsequences: false)
        return "'\(parts.map { String($0) }.joined(separator: "'\\''"))'"
    }
}

extension [CommandSyntax] {
    /// The commands' names without the tool's name, each with the first sentence of its summary.
    package var overview: String { TextLayout.columns(map { ($0.nameWords.joined(separator: " "), $0.sentence) }) }

    /// Returns the message that a tool, or a family of commands such as `pipeline link`, has no
    /// such command, with a suggestion.
    package func unknown(_ word: String, of tool: String) -> String {
        let depth = tool.split(separator: " ").count
        let rests = map { $0.command.split(separator: " ").dropFirst(depth) }
        let words = rests.compactMap(\.first).map(String.init)
        let known = Set(words + rests.map { $0.joined(separator: " ") })
        return "\(tool): there is no command \"\(word)\"\(Spelling.hint(for: word, among: known))\n"
            + "Try '\(tool) --help'."
    }
}

extension CommandOption {
    /// The options of the tools that read `KafkaSettings`.
    package static let kafka = [
        CommandOption("kafka", argument: "HOST:PORT,…", "Kafka bootstrap servers (KAFKA_BOOTSTRAP)."),
        CommandOption("prefix", argument: "TEXT", "Prefix of the topics' names."),
    ]

    package static let config = CommandOption(
        "config", short: "c", argument: "FILE", "The workers' JSON file of settings.")

    package static let json = CommandOption(
        "json", short: "j", "Print JSON instead of text, a list as one object a line.")
}

extension CommandArguments {
    /// Returns these arguments with other operands, and with one option set or removed.
    package func with(_ option: String, _ value: String?, operands: [String]) -> CommandArguments {
        var arguments = self
        arguments.operands = operands
        arguments.options[option] = value.map { [$0] }
        return arguments
    }

    /// Returns an environment in which the values of options replace those of the settings that they override.
    ///
    /// - Parameter overrides: the options and the settings that they override.
    package func laid(over environment: [String: String], by overrides: [(option: String, setting: SettingDeclaration)])
        -> [String: String]
    {
        var environment = environment
        for (option, setting) in overrides {
            guard let value = value(option) else { continue }
            environment[setting.environmentName] = value
            environment["\(setting.environmentName)_FILE"] = nil
        }
        return environment
    }

    /// Returns the argument of an option, parsed as a setting's kind.
    package func value<Value>(_ option: String, as kind: SettingKind<Value>) throws(UsageError) -> Value? {
        try values(option, as: kind).last
    }

    /// Returns the arguments of a repeatable option, parsed as a setting's kind.
    package func values<Value>(_ option: String, as kind: SettingKind<Value>) throws(UsageError) -> [Value] {
        try values(option).map { text throws(UsageError) in
            do { return try kind.read(.text(text)) } catch {
                throw UsageError("--\(option): expected \(kind.expected), found \"\(text)\"")
            }
        }
    }
}
