import AppStore
import JSON
import Settings
import Store

extension ToolCommand {
    /// `pipeline whats-stored`.
    static let whatsStored = ToolCommand(
        syntax: CommandSyntax(
            "\(PipelineTool.name) whats-stored",
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
                ToolSettings.postgresOption, CommandOption.config, ToolSettings.jsonOption,
                CommandOption.wide,
            ]
        ),
        run: report
    )

    private static func report(
        _ arguments: CommandArguments,
        _ context: CommandContext
    ) async throws -> Int32 {
        let user = Identifier(arguments.operands[0])
        let limit = try arguments.value("limit", as: .int(1...1_000_000)) ?? 100
        let settings = try ToolSettings.read(arguments, context.environment, .database)
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
            archives: try await archives(of: user, arguments, settings, context.console)
        )
        if arguments.isSet("json") {
            context.console.print(json: stored.json)
        } else {
            context.console.print(stored.parts, isWide: arguments.isSet("wide"))
        }
        return ExitCode.success
    }

    private static func archives(
        of user: Identifier,
        _ arguments: CommandArguments,
        _ settings: SettingsValues,
        _ console: Console
    ) async throws -> [SearchedArchive] {
        let (known, keys) = try await settings.withDatabase { connection in
            (
                Array(try await connection.run(HistoryArchiveTable.all)),
                Array(try await connection.run(StoredAboutUser.searchKeys, user))
            )
        }
        var progress = ProgressLine(console: console)
        defer { progress.clear() }
        return try ArchiveSearch(user: user, keys: keys)
            .run(known, folder: arguments.value("archives")) { file, rows in
                progress.show(file, done: rows, "row")
            }
    }
}

/// The stored data about a user, for the user to read.
struct StoredReport {
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
        var table = TextTable([
            .init("table"), .init("rows", .right), .init("what"), .init("afterwards", rank: 1),
        ])
        for count in counts where count.rows > 0 {
            let meaning = Self.meanings[count.table]
            table.add([
                count.table, Quantity.grouped(count.rows), meaning?.what ?? "",
                meaning?.afterwards ?? "",
            ])
        }
        var parts: [TextPart] =
            table.isEmpty
            ? [.line("nothing is stored about \(user) in the tables")] : [.table(table)]
        if !identifiers.isEmpty {
            var table = TextTable([
                .init("by"), .init("token or ID"), .init("environment", rank: 1),
                .init("bundle", rank: 2),
            ])
            for identifier in identifiers {
                table.add([
                    identifier.kind, identifier.key.text,
                    identifier.environment.isEmpty ? "any" : identifier.environment,
                    identifier.bundleID.isEmpty ? "any" : identifier.bundleID.text,
                ])
            }
            parts += [.blank, .table(table)]
        }
        return parts + SearchedArchive.parts(archives) + [.blank, .line(Self.topicsNote)]
    }

    var json: String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("user", user)
            writer.key("tables")
            writer.array { writer in
                for count in counts {
                    writer.object { writer in
                        writer.member("table", count.table)
                        writer.key("rows")
                        writer.int(count.rows)
                        writer.member("what", Self.meanings[count.table]?.what ?? "")
                        writer.member("afterwards", Self.meanings[count.table]?.afterwards ?? "")
                    }
                }
            }
            writer.key("identifiers")
            writer.array { writer in
                for identifier in identifiers {
                    writer.object { writer in
                        writer.member("by", identifier.kind)
                        writer.member("key", identifier.key)
                        writer.member("environment", identifier.environment)
                        writer.member("bundle", identifier.bundleID)
                    }
                }
            }
            writer.key("archives")
            SearchedArchive.write(archives, to: &writer)
            writer.member("topics", Self.topicsNote)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
