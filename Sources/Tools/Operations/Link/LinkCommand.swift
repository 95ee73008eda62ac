import AppStore
import Commands
package import JSON
import Postgres
import Settings
package import Store

extension ToolCommand {
    static let linkAdd = ToolCommand(
        "link add",
        "Links purchases to users; running workers entitle them within a second.\n\n"
            + "KIND is account_token, app_transaction_id or original_transaction_id. With "
            + "--from, links come from a file, or from standard input for \"-\": each line is "
            + "kind,key,user[,environment,bundle] or a JSON object with these members. A link "
            + "to another user is moved with --move alone.", operands: "KIND KEY USER", operandCount: 0...3,
        options: [CommandOption("move", "Take links from the users that they name now.")] + linkOptions
    ) { context in
        let mayMove = context.arguments.isSet("move")
        return try await change(context, operandCount: 3, participle: "written", found: \.read) {
            try await AccountLinkTable.add($0, mayMove: mayMove, $1, on: $2)
        }
    }

    static let linkRemove = ToolCommand(
        "link remove",
        "Removes links; their purchases pass to another user, or to none, within a second.\n\n"
            + "KIND is account_token, app_transaction_id or original_transaction_id. With "
            + "--from, links come from a file as for 'link add'; where a line names a user, a "
            + "link to another user stays.", operands: "KIND KEY", operandCount: 0...3, options: linkOptions
    ) { try await change($0, operandCount: 2, participle: "removed", found: \.changed, AccountLinkTable.remove) }

    /// Maximum number of changed links that a command names; `link list --history` has all.
    private static let changesShown = 20

    private static let linkOptions = [
        CommandOption("from", argument: "FILE", "Many links, one a line."),
        CommandOption(
            "environment", argument: "NAME",
            "Only for this environment, such as Production; any unless given. With --from, for "
                + "the lines that name none."),
        CommandOption(
            "bundle", argument: "ID", "Only for this app; any unless given. With --from, for the lines that name none."),
        CommandOption("reason", argument: "TEXT", "Why, for the history. Required."),
        CommandOption("by", argument: "NAME", "Who changes them. Required."), .postgres, .config, .json,
    ]

    static let linkList = ToolCommand(
        "link list", "Lists links, all of them or those of one user, kind or key.",
        options: [
            CommandOption("history", "List what people added, moved and removed instead, the last first."),
            CommandOption("user", argument: "USER", "Only of this user."),
            CommandOption("kind", argument: "KIND", "Only of this kind."),
            CommandOption("key", argument: "KEY", "Only of this token or ID."),
            CommandOption("limit", argument: "N", "Maximum number of links; 1000 unless given."), .postgres, .config,
            .wide, .json,
        ]
    ) { context in
        let kind: LinkKind? = try context.arguments.value("kind").map { text throws(UsageError) in
            guard let kind = LinkKind(spelling: text) else {
                throw UsageError("--kind: expected one of \(LinkKind.spellings)")
            }
            return kind
        }
        let limit = try context.arguments.value("limit", as: .int(1...1_000_000)) ?? 1_000
        let selection: AccountLinkTable.Selection = (
            kind: kind, key: context.arguments.value("key").map { Identifier($0) },
            userID: context.arguments.value("user").map { Identifier($0) }, limit: limit
        )
        return try await context.withDatabase { connection in
            let count: Int
            if context.arguments.isSet("history") {
                let acts = Array(try await connection.run(AccountLinkTable.history, selection))
                context.console.print(acts, historyColumns, context.arguments)
                count = acts.count
            } else {
                let links = Array(try await connection.run(AccountLinkTable.list, selection))
                context.console.print(links, columns, context.arguments)
                count = links.count
            }
            return context.found(count, "link")
        }
    }

    static let linkReapply = ToolCommand(
        "link reapply",
        "Applies the rules of linking again to every purchase.\n\n"
            + "Run it after a change of the settings linking.*, which otherwise count from a "
            + "purchase's next record or link on. Running link-workers do the work; access "
            + "follows within seconds to minutes.", options: [.postgres, .config, .json]
    ) { context in
        let count = try await context.withDatabase { connection in try await connection.run(LinkChangeTable.addAll)[0] }
        let line = "\(Quantity.counted(count, "purchase")) queued for link-worker"
        context.print(["purchases": count], or: line)
        return ExitCode.found(count)
    }

    private typealias Counts = (read: Int, changed: Int)

    /// - Parameter found: the count by which the exit code reports success: for a removal the
    ///   removed links, for an addition all of them, because a link may exist already.
    private static func change(
        _ context: OperatorContext, operandCount: Int, participle: String, found: KeyPath<Counts, Int>,
        _ apply: ([AccountLink], AccountLinkTable.Act, PostgresConnection) async throws -> [AccountLinkTable.Change]
    ) async throws -> Int32 {
        var shown: [AccountLinkTable.Change] = []
        var source = try LinkSource(context.arguments, operandCount: operandCount)
        let act = (by: try context.required("by"), reason: try context.required("reason"))
        var counts: Counts = (0, 0)
        try await context.withDatabase { connection in
            while let batch = try source.next() {
                let changes: [AccountLinkTable.Change]
                do { changes = try await apply(batch, act, connection) } catch let error
                    as AccountLinkTable.LinkedToOthers
                { throw refusal(of: error.links, after: counts.read) }
                shown += changes.prefix(changesShown - shown.count)
                counts.changed += changes.count
                counts.read += batch.count
            }
        }
        let line =
            "\(Quantity.counted(counts.read, "link")) read, " + "\(Quantity.grouped(counts.changed)) \(participle)"
        let json: JSONContent = ["links": counts.read, participle: counts.changed, "changes": shown]
        context.print(json) { console in
            for change in shown { console.print(change.description) }
            if counts.changed > shown.count {
                console.print("… and \(Quantity.grouped(counts.changed - shown.count)) more: 'link list --history'")
            }
            console.print(line)
        }
        return ExitCode.found(counts[keyPath: found])
    }

    private static func refusal(of links: [AccountLinkTable.Change], after count: Int) -> CommandError {
        var text = "\(Quantity.counted(links.count, "link")) would be taken from another user; --move if that is meant:"
        for link in links.prefix(changesShown) { text += "\n  \(link.description)" }
        if count > 0 { text += "\nthe \(Quantity.counted(count, "link")) before are written, and may be written again" }
        return CommandError(ExitCode.negative, text)
    }

    private static let columns: [ReportColumn<AccountLink>] = [
        .init("user", \.userID), .init("kind", rank: 1, \.kind.rawValue), .init("key", \.key),
        any("environment", rank: 2, \.environment), any("bundle", rank: 3, \.bundleID.text),
    ]

    private static let historyColumns: [ReportColumn<AccountLinkTable.Recorded>] = [
        .init("at", \.at), .init("by", \.by), .init("from", \.formerUserID), .init("to", \.userID),
        .init("kind", rank: 1, \.kind.rawValue), .init("key", \.key), any("environment", rank: 3, \.environment),
        any("bundle", rank: 4, \.bundleID.text), .init("reason", rank: 2, \.reason),
    ]

    /// A column of texts that are empty for any value.
    private static func any<Row>(_ name: String, rank: Int, _ text: @escaping @Sendable (Row) -> String)
        -> ReportColumn<Row>
    {
        .init(name, rank: rank) {
            text($0).isEmpty ? nil : text($0)
        } cell: {
            text($0).isEmpty ? "any" : text($0)
        }
    }
}

extension AccountLinkTable.Change: JSONRepresentable {
    package var json: JSONContent {
        ["kind": kind.rawValue, "key": key, "from": formerUserID, "to": userID, "purchases": purchases]
    }

    fileprivate var description: String {
        let (former, new) = (formerUserID?.text ?? "nobody", userID?.text ?? "nobody")
        return "\(former) -> \(new): \(kind.rawValue) \(key), \(Quantity.counted(purchases, "known purchase"))"
    }
}
