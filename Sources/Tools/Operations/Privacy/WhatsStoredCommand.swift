import AppStore
import Commands
import JSON
import Settings
import Store

extension ToolCommand {
    static let whatsStored = ToolCommand(
        "whats-stored",
        "Reports what is stored about one user, where, and what 'forget' does with it.\n\n"
            + "'explain USER' shows the same user's entitlements with their reasons.", operands: "USER",
        operandCount: 1...1,
        options: [
            CommandOption(
                "limit", argument: "N", "Maximum number of links, claims and purchases named, each; 100 unless given."),
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
        let stored = StoredReport(user: user, counts: counts, identifiers: identifiers)
        context.console.print(stored, context.arguments)
        return ExitCode.found(stored.rowCount)
    }
}

/// The stored data about a user, for the user to read.
struct StoredReport: Report {
    let user: Identifier
    let counts: [StoredAboutUser.Count]
    let identifiers: [StoredAboutUser.SearchKey]

    /// The purpose of each table, and how long its rows are kept.
    private static let meanings: [String: (what: String, afterwards: String)] = [
        "account_links": ("links to purchases", "removed by forget"),
        "ownership_claims": ("purchases that the ingestion service named the user for", "removed by forget"),
        "ownership_facts": (
            "transactions whose account token is the user's ID", "token removed by forget, where tokens are user IDs"
        ),
        "ownership_renewals": (
            "renewal infos whose account token is the user's ID", "token removed by forget, where tokens are user IDs"
        ), "owners": ("purchases that are the user's now", "pass to another user, or to nobody, after forget"),
        "entitlements": ("what the user may use, and could", "follow the purchases' owners"),
        "stacked_purchases": ("non-renewing purchases that extend each other", "follow the purchases' owners"),
        "grants": ("entitlements that a person granted", "kept; end them with 'pipeline revoke-grant'"),
        "ledger": ("credits of consumables", "follow the purchases' owners"),
        "ledger_debits": ("spent credits", "kept for the accounts"),
        "changes": ("the history of what the user could use", "kept for the accounts"),
        "unpublished_changes": ("changes that are not published yet", "removed within seconds, by entitle-worker"),
        "user_versions": ("the number of the last change", "kept for the accounts"),
        "feed_repetitions": ("a state that is published once more", "removed within minutes, by entitle-worker"),
        "dead_letters": (
            "refused records that name a purchase of the user", "kept as long as the topic; see 'dead-letter redact'"
        ), "forgotten_users": ("times the user was forgotten", "kept; holds a hash of the ID"),
    ]

    var rowCount: Int64 { counts.reduce(0) { $0 + $1.rows } }

    private static let topicsNote =
        "Kafka holds more, for as long as its topics are set to (see 'pipeline topics'): the "
        + "bodies as Apple signed them, the feed entitlements.changed, and the user's newest "
        + "state in entitlements.current. No single record of them can be removed. Archived history "
        + "is in the files that the table history_archives lists: search them by these names."

    var parts: [TextPart] {
        let held = counts.filter { $0.rows > 0 }
        var parts: [TextPart] =
            held.isEmpty
            ? [.line("nothing is stored about \(user) in the tables")] : [.table(TextTable(held, Self.countColumns))]
        if !identifiers.isEmpty { parts += [.blank, .table(TextTable(identifiers, Self.identifierColumns))] }
        return parts + [.blank, .line(Self.topicsNote)]
    }

    private static let countColumns: [ReportColumn<StoredAboutUser.Count>] = [
        .init("table", \.table), .init("rows", \.rows), .init("what") { meanings[$0.table]?.what ?? "" },
        .init("afterwards", rank: 1) { meanings[$0.table]?.afterwards ?? "" },
    ]

    private static let identifierColumns: [ReportColumn<StoredAboutUser.SearchKey>] = [
        .init("by", \.kind), .init("key", title: "token or ID", \.key),
        .init("environment", rank: 1, \.environment) { $0.environment.isEmpty ? "any" : $0.environment },
        .init("bundle_id", title: "bundle", rank: 2, \.bundleID) { $0.bundleID.isEmpty ? "any" : $0.bundleID.text },
    ]

    var json: JSONContent {
        [
            "user_id": user, "tables": counts.map { JSONContent($0, Self.countColumns) },
            "identifiers": identifiers.map { JSONContent($0, Self.identifierColumns) }, "topics": Self.topicsNote,
        ]
    }
}
