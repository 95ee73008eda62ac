/// The settings of a program, in the order in which it lists them.
package struct SettingsSchema: Sendable {
    package let declarations: [SettingDeclaration]

    /// Whether `RDKAFKA_*` and the file's `rdkafka` object are read and passed to librdkafka.
    package let takesKafkaProperties: Bool

    /// Describes the fault of a property with this name and value; nil if it has none.
    let kafkaPropertyProblem: @Sendable (String, String) -> String?

    /// Sections of the file, such as `verify`, that belong to other programs and are ignored.
    let otherSections: Set<String>

    /// Whether all names in the file that are not declared are ignored.
    let ignoresUnknown: Bool

    /// - Parameters:
    ///   - borrowed: settings of other programs' sections that this program reads too; listed last.
    ///     The rest of those sections is ignored here, and checked by the programs that own them.
    ///   - otherSections: the sections of all programs that share the file. Those of `declarations`
    ///     are this program's own, and checked.
    ///   - ignoresUnknown: for tools, which read a few settings of the workers' file and leave
    ///     checking it to the workers.
    ///   - kafkaPropertyProblem: checks a property with librdkafka; this module does not link it.
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

    /// Reads everything and reports all that is wrong at once.
    ///
    /// The environment wins over the file; an empty variable counts as not set. A secret can also
    /// come from a file named by `<NAME>_FILE`.
    package func read(environment: [String: String], file: SettingsFile? = nil) throws(SettingsError) -> SettingsValues
    {
        var reader = SettingsReader(schema: self, environment: environment, file: file)
        return try reader.read()
    }

    /// `kafka` of `kafka.bootstrap`.
    static func section(_ name: String) -> String { String(name.prefix { $0 != "." }) }

    /// Whether a name in the file that is not declared is ignored rather than reported.
    func ignores(_ name: String) -> Bool { ignoresUnknown || otherSections.contains(Self.section(name)) }
}

extension SettingsSchema {
    /// The settings for `--help`, one paragraph each.
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
    /// The bounds in brackets, for types whose sentence does not state them.
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
