import Store
import JSON
import Settings

extension ToolCommand {
    /// `pipeline migrate`.
    static let migrate = ToolCommand(
        syntax: CommandSyntax(
            "\(PipelineTool.name) migrate",
            "Brings the database's schema to the newest version.\n\n"
                + "Forward only; may be run twice, and by several at the same time. The SQL is in "
                + "schemas/postgres, found beside the executable or above it, or in the folder "
                + "that SCHEMAS_DIR names. A migration that fails leaves nothing of its own.",
            options: [
                ToolSettings.postgresOption, CommandOption.config, CommandOption.json,
            ]
        ),
        run: runMigrate
    )

    private static func runMigrate(
        _ arguments: CommandArguments,
        _ context: CommandContext
    ) async throws -> Int32 {
        let settings = try ToolSettings.read(arguments, context.environment, .database)
        let folder = try MigrationFolder.find(environment: context.environment)
        let migrator = Migrator(try folder.migrations())
        let report = try await settings.withDatabase { connection in
            try await migrator.run(on: connection)
        }
        guard !arguments.isSet("json") else {
            let applied = report.applied.map { Int($0.version) }
            let result: JSONContent = ["applied": applied, "version": Int(report.version)]
            context.console.print(json: result)
            return ExitCode.success
        }
        for migration in report.applied {
            context.console.print("applied  \(migration.version)  \(migration.name)")
        }
        let state = report.applied.isEmpty ? "nothing to do" : "done"
        context.console.print("\(state): the schema has version \(report.version)")
        return ExitCode.success
    }
}
