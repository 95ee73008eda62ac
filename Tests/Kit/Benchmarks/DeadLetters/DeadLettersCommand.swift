import Operations
import Postgres
import Settings
import Simulation
import Store

/// `bench dead-letters`.
enum DeadLettersCommand {
    private static let syntax = CommandSyntax(
        "bench dead-letters",
        """
        Measures the index of dead letters on a PostgreSQL started for it: made-up letters are \
        decoded and written as 'dead-letter index' does it, of two partitions at the same time; \
        then each filter, count and list of groups is asked for, its first page, three times.
        """,
        options: [
            CommandOption("records", argument: "N", "How many dead letters (100000)."),
            CommandOption("groups", argument: "N", "How many groups they belong to (200)."),
            .json, SavedFigure.option,
        ]
    )

    static let command = ToolCommand(syntax: syntax) { options, context in
        let console = context.console
        let count = try BenchOptions.number(options, "records", in: 1_000...10_000_000) ?? 100_000
        let groups = try BenchOptions.number(options, "groups", in: 1...10_000_000) ?? 200
        let measurement = try await PrivatePostgres.lend(.durable) { server in
            try await measure(
                DeadLettersBenchmark(recordCount: count, groupCount: groups, console: console),
                on: server.connectionString()
            )
        }
        try measurement.publish("dead-letters", options, console)
        return ExitCode.success
    }

    private static func measure(
        _ benchmark: DeadLettersBenchmark,
        on connectionString: String
    ) async throws -> DeadLettersMeasurement {
        var options = PostgresOptions(connectionString: connectionString, applicationName: "bench")
        options.statementDeadline = .seconds(300)
        options.sessionSettings = DeadLetterTable.sessionSettings
        let migrations = try MigrationFolder.find().migrations()
        try await PostgresConnection.lend(options) { connection in
            _ = try await Migrator(migrations).run(on: connection)
        }
        let client = PostgresClient(options, connectionsMax: 2)
        let measurement = try await benchmark.run(on: client)
        await client.close()
        return measurement
    }
}
