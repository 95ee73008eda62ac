import JSON
import Settings
import Store

extension ToolCommand {
    private static let retention = SettingKind.duration(HistoryArchiving.ageMin...(.days(3650)))

    /// `pipeline history archive`.
    static let historyArchive = ToolCommand(
        syntax: CommandSyntax(
            "\(PipelineTool.name) history archive",
            "Moves old history out of the database into files.\n\n"
                + "Out of revisions and changes goes what was superseded before the given age, "
                + "out of notifications what was recorded before it. What facts are read from, "
                + "the newest change of each entitlement and what waits to be published stay: "
                + "entitlements, rebuild and the feed do not become different, and what was known "
                + "at an instant is answered for every instant since. Choose an age above the "
                + "retention of the raw topic: what is published again afterwards would be "
                + "recorded as if it were new.\n\n"
                + "Without --yes it only counts. With --yes it works in small transactions beside "
                + "the running workers. Each row is in the file, on disk, before its deletion is "
                + "committed; what is broken off is done by the next run. The files hold signed "
                + "payloads and account tokens: keep them as you keep the database.",
            options: [
                CommandOption(
                    "older-than",
                    argument: "AGE",
                    "From 30d on, such as 400d. Required."
                ),
                CommandOption(
                    "to",
                    argument: "FOLDER",
                    "Where the files go, one for each table, which is made. Required with --yes."
                ),
                CommandOption("yes", short: "y", "Archive; without it rows are counted."),
                ToolSettings.postgresOption, CommandOption.config, CommandOption.json,
            ]
        ),
        run: archive
    )

    /// `pipeline history restore`.
    static let historyRestore = ToolCommand(
        syntax: CommandSyntax(
            "\(PipelineTool.name) history restore",
            "Puts archived history back.\n\n"
                + "Rows that are there already stay as they are, so it may be run twice. Nothing "
                + "of it is published again.",
            operands: "FILE...",
            operandCount: 1...1_000,
            options: [
                ToolSettings.postgresOption, CommandOption.config, CommandOption.json,
            ]
        ),
        run: restore
    )

    private static func archive(
        _ arguments: CommandArguments,
        _ context: CommandContext
    ) async throws -> Int32 {
        guard let age = try arguments.value("older-than", as: retention) else {
            throw UsageError("--older-than is required")
        }
        let folder = arguments.value("to")
        let isConfirmed = arguments.isSet("yes")
        guard folder != nil || !isConfirmed else {
            throw UsageError("--to is required with --yes")
        }
        let settings = try ToolSettings.read(arguments, context.environment, .database)
        var progress = ProgressLine(console: context.console)
        var archived: [ArchivedTable] = []
        for table in HistoryArchiving.Table.allCases {
            let result = try await settings.withDatabase { connection in
                let archiving = try await HistoryArchive(table, olderThan: age, on: connection)
                return try await archiving.run(to: isConfirmed ? folder : nil) { rows in
                    progress.show(table.rawValue, done: rows, "row")
                }
            }
            archived.append(result)
        }
        progress.clear()
        show(archived, isConfirmed, context.console, isJSON: arguments.isSet("json"))
        return isConfirmed ? ExitCode.success : ExitCode.negative
    }

    private static func show(
        _ tables: [ArchivedTable],
        _ isArchived: Bool,
        _ console: Console,
        isJSON: Bool
    ) {
        guard !isJSON else {
            let files = tables.map { table -> JSONContent in
                ["table": table.table.rawValue, "rows": table.rowCount, "file": table.file]
            }
            let result: JSONContent = ["tables": files, "is_archived": isArchived]
            return console.print(json: result)
        }
        for table in tables {
            let rows = Quantity.counted(table.rowCount, "row")
            if let file = table.file {
                console.print("\(table.table.rawValue): \(rows) archived in \(file)")
            } else {
                let verb = isArchived ? "are old enough" : "would be archived"
                console.print("\(table.table.rawValue): \(rows) \(verb)")
            }
        }
        if !isArchived {
            console.note("nothing is archived yet: run it again with --yes and --to FOLDER")
        }
    }

    private static func restore(
        _ arguments: CommandArguments,
        _ context: CommandContext
    ) async throws -> Int32 {
        let settings = try ToolSettings.read(arguments, context.environment, .database)
        var progress = ProgressLine(console: context.console)
        var total = 0
        for file in arguments.operands {
            total += try await settings.withDatabase { connection in
                try await HistoryRestore(connection).run(file) { rows, total in
                    progress.show(file, done: rows, of: total, "row")
                }
            }
        }
        progress.clear()
        let line = "\(Quantity.counted(total, "row")) restored"
        context.console.print(["restored": total], or: line, arguments)
        return ExitCode.success
    }
}

extension Duration {
    fileprivate static func days(_ count: Int) -> Duration { .seconds(count * 86_400) }
}
