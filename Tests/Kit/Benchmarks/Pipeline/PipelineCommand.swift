import Commands
import Foundation
import Operations
import Platform
import Settings

/// `bench pipeline`.
enum PipelineCommand {
    static let command = ToolCommand(syntax: PipelineOptions.syntax) { parsed, context in
        let console = context.console
        let options = try PipelineOptions(parsed)
        var measurements: [PipelineMeasurement] = []
        for setup in options.setups {
            console.note("measuring with \(setup.text)")
            let rig = try await PipelineRig.build(
                bootstrap: options.kafka, postgres: options.postgres, setup, console: console)
            let benchmark = PipelineBenchmark(rig: rig, options: options, console: console)
            let measurement = try await closing {
                await rig.remove()
            } after: {
                try await benchmark.run(setup)
            }
            measurements.append(measurement)
        }
        console.print(PipelineReport(measurements: measurements), parsed)
        return ExitCode.success
    }
}

/// The options of `bench pipeline`.
struct PipelineOptions {
    /// A measurement of the whole pipeline.
    struct Setup: Hashable {
        var partitions: Int
        /// Copies of each stage's worker.
        var copies = 1
    }

    let kafka: String
    let postgres: String?
    let brokerProcessID: Int32?
    let recordCount: Int
    let warmUpCount: Int

    /// Number of records that are measured first, for the slope.
    var fewCount: Int { recordCount / 4 }

    /// Indices of the measured records.
    var measured: Range<Int> { (warmUpCount + fewCount)..<(warmUpCount + fewCount + recordCount) }

    let latencySeconds: Int
    let beside: BesideProgram?
    /// The first is what the others are compared with.
    let setups: [Setup]

    static let syntax = CommandSyntax(
        "bench pipeline",
        """
        Measures the four workers from the raw topic to committed rows, on a Kafka that is there \
        already and on a PostgreSQL started for it (or one that is there). Each record is one \
        signed transaction of about 5 kB; of 100 there are 58 first periods of subscriptions, 20 \
        renewals, 10 repeats, 5 consumables, 4 non-consumables, 2 revocations and 1 forgery, in \
        random order within 200, of users with 1 to 6 purchases each; the tokens of 4 in 5 \
        purchases are linked to them. The records lie in the topic before the first worker goes on. \
        Processor time is the slope between a quarter of the records and all of them. Latency is \
        measured afterwards, of 1,000 purchases that come one at a time and at half that rate. A \
        broker that has just started costs several times as much until it has warmed up.
        """,
        options: [
            CommandOption("kafka", argument: "BOOTSTRAP", "The Kafka to measure on (required)."),
            CommandOption("postgres", argument: "URL", "A database to fill; else a private one."),
            CommandOption("broker-pid", argument: "PID", "The broker's process, for its CPU time."),
            CommandOption("records", argument: "N", "How many records to measure (50000)."),
            CommandOption("warm-up", argument: "N", "How many before them (40000)."),
            CommandOption("latency-seconds", argument: "N", "How long at half load (10)."),
            CommandOption("partitions", argument: "N,…", "Of each topic (4); several: compared."),
            CommandOption(
                "copies", argument: "N,…", "Of each worker (1); several: each with each number of partitions."),
            CommandOption(
                "beside", argument: "PROGRAM", "Measure it on the same records (Tests/Reference/direct/run)."), .json,
        ])

    init(_ options: CommandArguments) throws(UsageError) {
        guard let kafka = options.value("kafka") else {
            throw UsageError("--kafka: expected the bootstrap servers to measure on")
        }
        self.kafka = kafka
        postgres = options.value("postgres")
        brokerProcessID = try BenchOptions.number(options, "broker-pid", in: 1...4_194_304).map { Int32($0) }
        recordCount = try BenchOptions.number(options, "records", in: 100...10_000_000) ?? 50_000
        warmUpCount = try BenchOptions.number(options, "warm-up", in: 1...10_000_000) ?? 40_000
        latencySeconds = try BenchOptions.number(options, "latency-seconds", in: 0...600) ?? 10
        beside = options.value("beside").map(BesideProgram.init)
        let partitions = try BenchOptions.numbers(options, "partitions", in: 1...1_000) ?? [4]
        let copies = try BenchOptions.numbers(options, "copies", in: 1...64) ?? [1]
        setups = partitions.flatMap { partitions in copies.map { Setup(partitions: partitions, copies: $0) } }
        guard postgres == nil || setups.count == 1 else {
            throw UsageError("--postgres: one database serves one measurement only")
        }
    }
}

extension PipelineOptions.Setup {
    /// A text such as `4 partitions, 3 copies of each worker`.
    var text: String {
        Quantity.counted(partitions, "partition") + ", " + Quantity.counted(copies, "copy", "copies")
            + " of each worker"
    }
}
