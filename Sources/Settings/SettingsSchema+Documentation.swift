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
    /// The bounds, where the sentence does not say them already.
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
