/// The settings that a program has, in the order in which it shows them.
package struct SettingsSchema: Sendable {
    package let declarations: [SettingDeclaration]

    /// Whether `RDKAFKA_*` and the file's `rdkafka` object are passed on.
    package let takesKafkaProperties: Bool

    /// Describes the fault of a property with this name and value; nil if it has none.
    let kafkaPropertyProblem: @Sendable (String, String) -> String?

    /// The first parts of names that the file may hold for other programs; they are passed over.
    let otherSections: Set<String>

    /// Whether the file may hold any name that is not declared.
    let passesOverUnknown: Bool

    /// - Parameters:
    ///   - borrowed: declared after the others, from sections that another program owns: what else
    ///     the file holds of those sections is that program's to check.
    ///   - otherSections: sections of a file that several programs share. A section that one of the
    ///     declarations belongs to is this program's own, and checked.
    ///   - kafkaPropertyProblem: asks librdkafka about a property; this module does not know it.
    ///   - passesOverUnknown: for tools, which read a few settings of the workers' file and leave
    ///     checking it to the workers.
    package init(
        _ declarations: [SettingDeclaration],
        borrowed: [SettingDeclaration] = [],
        takesKafkaProperties: Bool = true,
        otherSections: Set<String> = [],
        passesOverUnknown: Bool = false,
        kafkaPropertyProblem: @escaping @Sendable (String, String) -> String? = { _, _ in nil }
    ) {
        let all = declarations + borrowed
        let names = all.map(\.environmentName)
        precondition(Set(names).count == names.count, "two settings share a name")
        self.declarations = all
        self.takesKafkaProperties = takesKafkaProperties
        self.passesOverUnknown = passesOverUnknown
        self.kafkaPropertyProblem = kafkaPropertyProblem
        self.otherSections = otherSections.subtracting(declarations.map { Self.section($0.name) })
    }

    /// Reads everything and reports all that is wrong at once.
    ///
    /// The environment wins over the file; an empty variable counts as not set. A secret can also
    /// come from a file named by `<NAME>_FILE`.
    package func read(
        environment: [String: String],
        file: SettingsFile? = nil
    ) throws(SettingsError) -> SettingsValues {
        var reader = SettingsReader(schema: self, environment: environment, file: file)
        return try reader.read()
    }

    /// `kafka` of `kafka.bootstrap`.
    static func section(_ name: String) -> String {
        String(name.prefix { $0 != "." })
    }

    /// Whether a name that is not declared may stand in the file.
    func passesOver(_ name: String) -> Bool {
        passesOverUnknown || otherSections.contains(Self.section(name))
    }
}

extension SettingsSchema {
    /// The settings for `--help`, one paragraph each.
    package var help: String {
        let paragraphs = declarations.map { declaration in
            let facts = "\(declaration.type), \(declaration.presence.phrase)"
            return "  \(declaration.name)  (\(declaration.environmentName); \(facts))\n"
                + TextLayout.wrapped(
                    "\(declaration.sentence) \(Self.bounds(declaration))",
                    indent: 6
                )
        }
        return paragraphs.joined() + (takesKafkaProperties ? Self.kafkaHelp : "")
    }

    /// The settings as a Markdown table, for `deploy/SETTINGS.md`.
    package var markdownTable: String {
        let rows = declarations.map { declaration in
            let cells = [
                "`\(declaration.name)`", "`\(declaration.environmentName)`",
                declaration.presence.cell, declaration.sentence + declaration.bracketedBounds,
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
                + "RDKAFKA_SASL_PASSWORD_FILE. Those that a promise rests on are refused.",
            indent: 6
        )

    private static func bounds(_ declaration: SettingDeclaration) -> String {
        let secret =
            declaration.isSecret ? " Also from a file: \(declaration.environmentName)_FILE." : ""
        return "Expects \(declaration.expected).\(secret)"
    }

    private static func escaped(_ cell: String) -> String {
        String(cell.flatMap { $0 == "|" ? "\\|" : String($0) })
    }
}

extension SettingDeclaration {
    /// The bounds, unless the sentence says them already.
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
