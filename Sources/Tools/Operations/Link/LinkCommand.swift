import AppStore
import Commands
import JSON
import Postgres
import Settings
import Store

extension ToolCommand {
    static let linkAdd = ToolCommand(
        "link add",
        "Links purchases to users; running workers entitle them within a second.\n\n"
            + "KIND is account_token, app_transaction_id or original_transaction_id. With "
            + "--from, links come from a file, or from standard input for \"-\": each line is "
            + "kind,key,user[,environment,bundle] or a JSON object with these members. A link "
            + "that exists already is changed to the new user.", operands: "KIND KEY USER", operandCount: 0...3,
        options: linkOptions
    ) { try await change($0, operandCount: 3, participle: "written", found: \.read, AccountLinkTable.add) }

    static let linkRemove = ToolCommand(
        "link remove",
        "Removes links; their purchases pass to another user, or to none, within a second.\n\n"
            + "KIND is account_token, app_transaction_id or original_transaction_id. With "
            + "--from, links come from a file as for 'link add'; where a line names a user, a "
            + "link to another user stays.", operands: "KIND KEY", operandCount: 0...3, options: linkOptions
    ) { try await change($0, operandCount: 2, participle: "removed", found: \.changed, AccountLinkTable.remove) }

    private static let linkOptions = [
        CommandOption("from", argument: "FILE", "Many links, one a line."),
        CommandOption(
            "environment", argument: "NAME",
            "Only for this environment, such as Production; any unless given. With --from, for "
                + "the lines that name none."),
        CommandOption(
            "bundle", argument: "ID", "Only for this app; any unless given. With --from, for the lines that name none."),
        .postgres, .config, .json,
    ]

    static let linkList = ToolCommand(
        "link list", "Lists links, all of them or those of one user, kind or key.",
        options: [
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
        let links = try await context.withDatabase { connection in
            Array(try await connection.run(AccountLinkTable.list, selection))
        }
        context.console.print(links, columns, context.arguments)
        return ExitCode.found(links.count)
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
        _ apply: ([AccountLink], PostgresConnection) async throws -> Int
    ) async throws -> Int32 {
        var source = try LinkSource(context.arguments, operandCount: operandCount)
        var counts: Counts = (0, 0)
        try await context.withDatabase { connection in
            while let batch = try source.next() {
                counts.changed += try await apply(batch, connection)
                counts.read += batch.count
            }
        }
        let line =
            "\(Quantity.counted(counts.read, "link")) read, " + "\(Quantity.grouped(counts.changed)) \(participle)"
        context.print(["links": counts.read, participle: counts.changed], or: line)
        return ExitCode.found(counts[keyPath: found])
    }

    private static let columns: [ReportColumn<AccountLink>] = [
        .init("user", \.userID), .init("kind", rank: 1, \.kind.rawValue), .init("key", \.key),
        .init("environment", rank: 2) {
            $0.environment.isEmpty ? nil : $0.environment
        } cell: {
            $0.environment.isEmpty ? "any" : $0.environment
        },
        .init("bundle", rank: 3) {
            $0.bundleID.isEmpty ? nil : $0.bundleID
        } cell: {
            $0.bundleID.isEmpty ? "any" : $0.bundleID.text
        },
    ]
}
