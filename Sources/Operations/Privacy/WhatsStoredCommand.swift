import AppStore
import JSON
import Settings
import Store

extension ToolCommand {
    static let whatsStored = ToolCommand(
        "whats-stored",
        "Reports what is stored about one user, where, and what 'forget' does with it.\n\n"
            + "Files that 'history archive' has written are read to their ends, and those that "
            + "are not found are named. 'explain USER' shows the same user's entitlements with "
            + "their reasons.",
        operands: "USER",
        operandCount: 1...1,
        options: [
            CommandOption(
                "limit",
                argument: "N",
                "Maximum number of links, claims and purchases named, each; 100 unless given."
            ),
            CommandOption(
                "archives",
                argument: "FOLDER",
                "Where archive files lie; else each is looked for where it was written."
            ),
            .postgres, .config, .json, .wide,
        ]
    ) { context in
        let user = Identifier(context.arguments.operands[0])
        let limit = try context.arguments.value("limit", as: .int(1...1_000_000)) ?? 100
        let settings = try context.settings(.database)
        let (counts, identifiers) = try await settings.withDatabase { connection in
            (
                Array(try await connection.run(StoredAboutUser.counts, user)),
                Array(try await connection.run(StoredAboutUser.identifiers, (user, limit)))
            )
        }
        let stored = StoredReport(
            user: user,
            counts: counts,
            identifiers: identifiers,
            archives: try await archives(of: user, settings, context)
        )
        context.console.print(stored, context.arguments)
        return ExitCode.success
    }

    private static func archives(
        of user: Identifier,
        _ settings: SettingsValues,
        _ context: OperatorContext
    ) async throws -> [SearchedArchive] {
        let (known, keys) = try await settings.withDatabase { connection in
            (
                Array(try await connection.run(HistoryArchiveTable.all)),
                Array(try await connection.run(StoredAboutUser.searchKeys, user))
            )
        }
        var progress = ProgressLine(console: context.console)
        defer { progress.clear() }
        return try ArchiveSearch(user: user, keys: keys)
            .run(known, folder: context.arguments.value("archives")) { file, rows in
                progress.show(file, done: rows, "row")
            }
    }
}

/// The stored data about a user, for the user to read.
struct StoredReport: Report {
    let user: Identifier
    let counts: [StoredAboutUser.Count]
    let identifiers: [StoredAboutUser.SearchKey]
    let archives: [SearchedArchive]

    /// The purpose of a table, and how long its rows are kept.
    private struct Meaning {
        let what: String
        let afterwards: String
    }

    private static let meanings: [String: Meaning] = [
        "account_links": Meaning(what: "links to purchases", afterwards: "removed by forget"),
        "ownership_claims": Meaning(
            what: "purchases that the ingestion service named the user for",
            afterwards: "removed by forget"
        ),
        "ownership_facts": Meaning(
            what: "transactions whose account token is the user's ID",
            afterwards: "token removed by forget, where tokens are user IDs"
        ),
        "ownership_renewals": Meaning(
            what: "renewal infos whose account token is the user's ID",
            afterwards: "token removed by forget, where tokens are user IDs"
        ),
        "owners": Meaning(
            what: "purchases that are the user's now",
            afterwards: "pass to another user, or to nobody, after forget"
        ),
        "entitlements": Meaning(
            what: "what the user may use, and could",
            afterwards: "follow the purchases' owners"
        ),
        "stacked_purchases": Meaning(
            what: "non-renewing purchases that extend each other",
            afterwards: "follow the purchases' owners"
        ),
        "grants": Meaning(
            what: "entitlements that a person granted",
            afterwards: "kept; end them with 'pipeline revoke-grant'"
        ),
        "ledger": Meaning(
            what: "credits of consumables",
            afterwards: "follow the purchases' owners"
        ),
        "ledger_debits": Meaning(what: "spent credits", afterwards: "kept for the accounts"),
        "changes": Meaning(
            what: "the history of what the user could use",
            afterwards: "kept for the accounts"
        ),
        "unpublished_changes": Meaning(
            what: "changes that are not published yet",
            afterwards: "removed within seconds, by entitle-worker"
        ),
        "user_versions": Meaning(
            what: "the number of the last change",
            afterwards: "kept for the accounts"
        ),
        "feed_repetitions": Meaning(
            what: "a state that is published once more",
            afterwards: "removed within minutes, by entitle-worker"
        ),
        "dead_letters": Meaning(
            what: "refused records that name a purchase of the user",
            afterwards: "kept as long as the topic; see 'dead-letter redact'"
        ),
        "forgotten_users": Meaning(
            what: "times the user was forgotten",
            afterwards: "kept; holds a hash of the ID"
        ),
    ]

    private static let topicsNote =
        "Kafka holds more, for as long as its topics are set to (see 'pipeline topics'): the "
        + "bodies as Apple signed them, the feed entitlements.changed, and the user's newest "
        + "state in entitlements.current. No single record of them can be removed."

    var parts: [TextPart] {
        let held = counts.filter { $0.rows > 0 }
        var parts: [TextPart] =
            held.isEmpty
            ? [.line("nothing is stored about \(user) in the tables")]
            : [.table(TextTable(held, Self.countColumns))]
        if !identifiers.isEmpty {
            parts += [.blank, .table(TextTable(identifiers, Self.identifierColumns))]
        }
        return parts + SearchedArchive.parts(archives) + [.blank, .line(Self.topicsNote)]
    }

    private static let countColumns: [ReportColumn<StoredAboutUser.Count>] = [
        .init("table", \.table), .init("rows", \.rows),
        .init("what") { meanings[$0.table]?.what ?? "" },
        .init("afterwards", rank: 1) { meanings[$0.table]?.afterwards ?? "" },
    ]

    private static let identifierColumns: [ReportColumn<StoredAboutUser.SearchKey>] = [
        .init("by", \.kind), .init("key", title: "token or ID", \.key),
        .init("environment", rank: 1, \.environment) {
            $0.environment.isEmpty ? "any" : $0.environment
        },
        .init("bundle_id", title: "bundle", rank: 2, \.bundleID) {
            $0.bundleID.isEmpty ? "any" : $0.bundleID.text
        },
    ]

    var json: JSONContent {
        [
            "user_id": user, "tables": counts.map { JSONContent($0, Self.countColumns) },
            "identifiers": identifiers.map { JSONContent($0, Self.identifierColumns) },
            "archives": archives.map { JSONContent($0, SearchedArchive.columns) },
            "topics": Self.topicsNote,
        ]
    }
}
