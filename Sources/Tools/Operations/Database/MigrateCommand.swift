import Commands
import JSON
import Settings
import Store

extension ToolCommand {
    static let migrate = ToolCommand(
        "migrate",
        "Brings the database's schema to the newest version.\n\n"
            + "Forward only; may be run twice, and by several at the same time. The SQL is in "
            + "schemas/postgres, found beside the executable or above it, or in the folder "
            + "that SCHEMAS_DIR names. A migration that fails leaves nothing of its own.",
        options: [.postgres, .config, .json]
    ) { context in
        let settings = try context.settings(.database)
        let folder = try MigrationFolder.find(environment: context.process.environment)
        let migrator = Migrator(try folder.migrations())
        let report = try await settings.withDatabase { connection in try await migrator.run(on: connection) }
        let applied = report.applied.map { Int($0.version) }
        context.print(["applied": applied, "version": Int(report.version)]) { console in
            for migration in report.applied { console.print("applied  \(migration.version)  \(migration.name)") }
            let state = report.applied.isEmpty ? "nothing to do" : "done"
            console.print("\(state): the schema has version \(report.version)")
        }
        return ExitCode.success
    }
}
