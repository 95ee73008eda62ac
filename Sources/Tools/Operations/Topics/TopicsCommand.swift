import Commands
import Kafka
import Settings

extension ToolCommand {
    static let topics = ToolCommand(
        "topics",
        "Creates the pipeline's topics, and reports where existing ones differ.\n\n"
            + "May be run again at any time. Existing topics stay as they are: with --alter "
            + "their settings are changed, with --add-partitions they get the partitions "
            + "they lack; their copies are never changed. A topic that keeps more records than "
            + "planned is no difference unless the option of its retention is given. Exit code 1 "
            + "when a difference would stop the workers or lose records.",
        options: CommandOption.kafka + [.config] + topicOptions + [.json]
    ) { context in
        let settings = try context.settings(.kafka)
        let layout = try TopicLayout(context.arguments, prefix: settings[KafkaSettings.topicPrefix])
        let report = try await KafkaAdmin.lend(settings.kafkaConfiguration) { admin in
            try await TopicDeployment(admin, layout).run(
                isAltering: context.arguments.isSet("alter"),
                isAddingPartitions: context.arguments.isSet("add-partitions"))
        }
        context.console.print(report, context.arguments)
        return ExitCode.answer(report.isUsable)
    }

    private static let topicOptions = [
        CommandOption(
            "partitions", argument: "N",
            "Partitions of each topic, which limit how many copies of a worker share the work; 8 "
                + "by default. The broker's cost grows with them."),
        CommandOption(
            "replication", argument: "N",
            "Copies of each partition; 3 by default, or as many as there are brokers. From 3 on, a "
                + "write waits for all but one of them."),
        CommandOption("retention", argument: "TIME", "How long records are kept: 7d, 12h, forever; 7d by default."),
        CommandOption(
            "dead-letter-retention", argument: "TIME", "How long dead letters are kept: 400d, forever; 400d by default."
        ),
        CommandOption(
            "dead-letter-size", argument: "SIZE",
            "Maximum size of all dead letters together, per replica: 32GiB, unbounded; 32GiB by "
                + "default. Above it the oldest are deleted, whatever their age."),
        CommandOption(
            "compression", argument: "TYPE",
            "Of the topics that one stage alone writes: producer, lz4, zstd, snappy, gzip or "
                + "uncompressed; producer by default, which keeps the workers' lz4. The others are "
                + "uncompressed, so that brokers compare a record's own size with the limit."),
        CommandOption("alter", "Change the settings of existing topics that differ."),
        CommandOption(
            "add-partitions",
            "Give the existing topics that workers read as many partitions as --partitions says, "
                + "also while the workers run. There is no way back to fewer."),
    ]
}

extension TopicLayout {
    init(_ arguments: CommandArguments, prefix: String) throws(UsageError) {
        self.init()
        self.prefix = prefix
        givenOptions = Set(["retention", "dead-letter-retention", "dead-letter-size"].filter(arguments.isSet))
        if let partitions = try arguments.value("partitions", as: .int(1...10_000)) {
            self.partitions = Int32(partitions)
        }
        replication = try arguments.value("replication", as: .int(1...9)).map { Int16($0) }
        retentionMilliseconds = try Self.retention(arguments, "retention", otherwise: retentionMilliseconds)
        deadLetterRetentionMilliseconds = try Self.retention(
            arguments, "dead-letter-retention", otherwise: deadLetterRetentionMilliseconds)
        if let size = arguments.value("dead-letter-size") {
            deadLetterBytesMax =
                size == "unbounded" ? nil : try arguments.value("dead-letter-size", as: .bytes((1 << 30)...(1 << 50)))
        }
        if let compression = arguments.value("compression") {
            guard Self.compressions.contains(compression) else {
                throw UsageError(
                    "--compression: expected one of "
                        + "\(Self.compressions.joined(separator: ", ")), found \"\(compression)\"")
            }
            self.compression = compression
        }
    }

    private static let compressions = ["producer", "lz4", "zstd", "snappy", "gzip", "uncompressed"]

    /// Returns a retention in milliseconds, or `nil` for `forever`.
    private static func retention(_ arguments: CommandArguments, _ option: String, otherwise standard: Int64?)
        throws(UsageError) -> Int64?
    {
        guard let text = arguments.value(option) else { return standard }
        guard text != "forever" else { return nil }
        let years = Duration.seconds(86_400 * 365 * 100)
        return try arguments.value(option, as: .duration(.seconds(1)...years)).map { Int64($0 / .milliseconds(1)) }
    }
}
