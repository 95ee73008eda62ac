import JSON
import Settings
import Store
import Telemetry

extension ToolCommand {
    private static let retention = SettingKind.duration(HistoryArchiving.ageMin...(.days(3650)))

    static let historyArchive = ToolCommand(
        "history archive",
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
            CommandOption("older-than", argument: "AGE", "From 30d on, such as 400d. Required."),
            CommandOption(
                "to",
                argument: "FOLDER",
                "Where the files go, one for each table, which is made. Required with --yes."
            ),
            CommandOption("yes", short: "y", "Archive; without it rows are counted."),
            MetricsFile.option("With --yes: also write when it last succeeded"),
            .postgres, .config, .json,
        ]
    ) { context in
        guard let age = try context.arguments.value("older-than", as: retention) else {
            throw UsageError("--older-than is required")
        }
        let folder = context.arguments.value("to")
        let isConfirmed = context.arguments.isSet("yes")
        guard folder != nil || !isConfirmed else {
            throw UsageError("--to is required with --yes")
        }
        let metricsFile = try MetricsFile(context.arguments)
        guard metricsFile == nil || isConfirmed else {
            throw UsageError("--metrics is for --yes")
        }
        let settings = try context.settings(.database)
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
        try metricsFile?.write("archive", isSuccess: true)
        show(archived, isArchived: isConfirmed, context)
        return ExitCode.answer(isConfirmed)
    }

    static let historyRestore = ToolCommand(
        "history restore",
        "Puts archived history back.\n\n"
            + "Rows that are there already stay as they are, so it may be run twice. Nothing "
            + "of it is published again.",
        operands: "FILE...",
        operandCount: 1...1_000,
        options: [.postgres, .config, .json]
    ) { context in
        let settings = try context.settings(.database)
        var progress = ProgressLine(console: context.console)
        var total = 0
        for file in context.arguments.operands {
            total += try await settings.withDatabase { connection in
                try await HistoryRestore(connection: connection).run(file) { rows, total in
                    progress.show(file, done: rows, of: total, "row")
                }
            }
        }
        progress.clear()
        let line = "\(Quantity.counted(total, "row")) restored"
        context.print(["restored": total], or: line)
        return ExitCode.success
    }

    private static func show(
        _ tables: [ArchivedTable],
        isArchived: Bool,
        _ context: OperatorContext
    ) {
        let files = tables.map { table -> JSONContent in
            ["table": table.table.rawValue, "rows": table.rowCount, "file": table.file]
        }
        context.print(["tables": files, "is_archived": isArchived]) { console in
            for table in tables {
                let verb = isArchived ? "are old enough" : "would be archived"
                let state = table.file.map { "archived in \($0)" } ?? verb
                let rows = Quantity.counted(table.rowCount, "row")
                console.print("\(table.table.rawValue): \(rows) \(state)")
            }
            if !isArchived {
                console.note("nothing is archived yet: run it again with --yes and --to FOLDER")
            }
        }
    }
}

extension Duration {
    fileprivate static func days(_ count: Int) -> Duration { .seconds(count * 86_400) }
}
