import Platform
import Settings
import Topology

/// `bench dedupe`.
enum DedupeCommand {
    static let command = ToolCommand(syntax: DedupeOptions.syntax) { parsed, context in
        let console = context.console
        let options = try DedupeOptions(parsed)
        let rig = try await PipelineRig.build(
            bootstrap: options.kafka,
            PipelineOptions.Setup(partitions: options.partitions, storedCount: 0),
            stages: [.dedupe],
            console: console
        )
        let measurement = try await closing {
            await rig.remove()
        } after: {
            try await DedupeBenchmark(rig: rig, options: options, console: console).run()
        }
        try measurement.publish("dedupe", parsed, console)
        return ExitCode.success
    }
}

/// The options of `bench dedupe`.
struct DedupeOptions {
    let kafka: String
    let recordCount: Int
    let distinctCount: Int
    let partitions: Int

    static let syntax = CommandSyntax(
        "bench dedupe",
        """
        Measures dedupe-worker on pure duplicates, the same bytes again, on a Kafka that is there \
        already and on a PostgreSQL started for it. The duplicates lie in the topic before the \
        worker goes on; what they repeat was forwarded and remembered before.
        """,
        options: [
            CommandOption("kafka", argument: "BOOTSTRAP", "The Kafka to measure on (required)."),
            CommandOption("records", argument: "N", "How many duplicates (100000)."),
            CommandOption("distinct", argument: "N", "How many records they repeat (10000)."),
            CommandOption("partitions", argument: "N", "Of each topic (4)."),
            .json, SavedFigure.option,
        ]
    )

    init(_ options: CommandArguments) throws(UsageError) {
        kafka = try BenchOptions.kafka(options)
        recordCount = try BenchOptions.number(options, "records", in: 100...10_000_000) ?? 100_000
        distinctCount = try BenchOptions.number(options, "distinct", in: 1...1_000_000) ?? 10_000
        partitions = try BenchOptions.number(options, "partitions", in: 1...1_000) ?? 4
    }
}
