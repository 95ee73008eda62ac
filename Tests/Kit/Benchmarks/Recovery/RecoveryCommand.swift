import Operations
import Settings

/// `bench recovery`.
enum RecoveryCommand {
    private static let syntax = CommandSyntax(
        "bench recovery",
        """
        Measures recovery-worker on its first run over a notification history of which nothing is \
        held: the memory that it needs, and its requests beside what its bucket admits. Apple's \
        server is simulated, Kafka is librdkafka's mock cluster, PostgreSQL is started for it.
        """,
        options: [
            CommandOption("records", argument: "N", "How many notifications (1000000)."),
            CommandOption(
                "share",
                argument: "PERCENT",
                "Of Apple's limit of 50 requests/s, with 20 notifications each (100)."
            ),
            .json, SavedFigure.option,
        ]
    )

    static let command = ToolCommand(syntax: syntax) { options, context in
        let count = try BenchOptions.number(options, "records", in: 1_000...10_000_000)
        let share = try BenchOptions.number(options, "share", in: 1...100)
        let measurement = try await RecoveryBenchmark(
            recordCount: count ?? 1_000_000,
            sharePercent: share ?? 100,
            console: context.console
        ).run()
        try measurement.publish("recovery", options, context.console)
        return ExitCode.success
    }
}
