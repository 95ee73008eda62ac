/// The settings of a program, in the order of `--help`.
package struct SettingsSchema: Sendable {
    package let declarations: [SettingDeclaration]

    /// Whether `RDKAFKA_*` and the file's `rdkafka` object are read and passed to librdkafka.
    package let takesKafkaProperties: Bool

    /// Returns the fault of a property with this name and value, or `nil`.
    let kafkaPropertyProblem: @Sendable (String, String) -> String?

    /// Sections of the file, such as `verify`, that are ignored because they belong to other programs.
    let otherSections: Set<String>

    /// Whether all undeclared names in the file are ignored.
    let ignoresUnknown: Bool

    /// - Parameters:
    ///   - borrowed: settings of other programs' sections that this program also reads; listed
    ///     last. The rest of these sections is checked only by the programs that own them.
    ///   - otherSections: the sections of all programs that share the file; the sections of
    ///     `declarations` are still checked.
    ///   - ignoresUnknown: whether undeclared names are ignored, for tools that read a few settings
    ///     of the workers' file.
    ///   - kafkaPropertyProblem: checks a property with librdkafka, which this module does not link.
    package init(
        _ declarations: [SettingDeclaration], borrowed: [SettingDeclaration] = [], takesKafkaProperties: Bool = true,
        otherSections: Set<String> = [], ignoresUnknown: Bool = false,
        kafkaPropertyProblem: @escaping @Sendable (String, String) -> String? = { _, _ in nil }
    ) {
        let all = declarations + borrowed
        let names = all.map(\.environmentName)
        precondition(Set(names).count == names.count, "two settings share a name")
        self.declarations = all
        self.takesKafkaProperties = takesKafkaProperties
        self.ignoresUnknown = ignoresUnknown
        self.kafkaPropertyProblem = kafkaPropertyProblem
        self.otherSections = otherSections.subtracting(declarations.map { Self.section($0.name) })
    }

    /// Reads all settings, and throws all problems together.
    ///
    /// The environment has precedence over the file; an empty variable counts as not set. A secret
    /// can also be read from a file that `<NAME>_FILE` names.
    package func read(environment: [String: String], file: SettingsFile? = nil) throws(SettingsError) -> SettingsValues
    {
        var reader = SettingsReader(schema: self, environment: environment, file: file)
        return try reader.read()
    }

    /// Returns the section of a name, such as `kafka` of `kafka.bootstrap`.
    static func section(_ name: String) -> String { String(name.prefix { $0 != "." }) }

    /// Whether an undeclared name in the file is ignored instead of reported.
    func ignores(_ name: String) -> Bool { ignoresUnknown || otherSections.contains(Self.section(name)) }
}

extension SettingsSchema {
    /// The settings as text for `--help`, one paragraph each.
    package var help: String {
        let paragraphs = declarations.map { declaration in
            let facts = "\(declaration.type), \(declaration.presence.phrase)"
            return "  \(declaration.name)  (\(declaration.environmentName); \(facts))\n"
                + TextLayout.wrapped("\(declaration.sentence) \(Self.bounds(declaration))", indent: 6)
        }
        return paragraphs.joined() + (takesKafkaProperties ? Self.kafkaHelp : "")
    }

    /// The settings as a Markdown table, for `deploy/SETTINGS.md`.
    package var markdownTable: String {
        let rows = declarations.map { declaration in
            let cells = [
                "`\(declaration.name)`", "`\(declaration.environmentName)`", declaration.presence.cell,
                declaration.sentence + declaration.bracketedBounds,
            ]
            return "| " + cells.map(Self.escaped).joined(separator: " | ") + " |\n"
        }
        return "| Setting | Environment | Default | Meaning |\n|---|---|---|---|\n" + rows.joined()
    }

    private static let kafkaHelp =
        "  rdkafka.*  (RDKAFKA_*)\n"
        + TextLayout.wrapped(
            "Any property of librdkafka, such as RDKAFKA_SECURITY_PROTOCOL for "
                + "security.protocol; passwords and keys also from files, "
                + "RDKAFKA_SASL_PASSWORD_FILE. Those that would break a guarantee are refused.", indent: 6)

    private static func bounds(_ declaration: SettingDeclaration) -> String {
        let secret = declaration.isSecret ? " Also from a file: \(declaration.environmentName)_FILE." : ""
        return "Expects \(declaration.expected).\(secret)"
    }

    private static func escaped(_ cell: String) -> String { String(cell.flatMap { $0 == "|" ? "\\|" : String($0) }) }
}

extension SettingDeclaration {
    /// The bounds in brackets; empty for types whose help sentences state the bounds.
    fileprivate var bracketedBounds: String {
        switch type {
        case "integer", "size", "duration", "choice": " (\(expected))"
        default: ""
        }
    }
}

extension SettingDeclaration.Presence {
    fileprivate var phrase: String {
        switch self {
        case .required: "required"
        case .optional: "optional"
        case .defaulted(let text): "default \(text.isEmpty ? "empty" : text)"
        }
    }

    fileprivate var cell: String {
        switch self {
        case .required: "required"
        case .optional: "–"
        case .defaulted(let text): text.isEmpty ? "empty" : "`\(text)`"
        }
    }
}
