import Kafka
import Records
import Settings
import Worker

extension ToolCommand {
    /// `pipeline publish`.
    static let publish = ToolCommand(
        syntax: CommandSyntax(
            "\(PipelineTool.name) publish",
            "Writes bodies to the raw topic, and waits until all are acknowledged.\n\n"
                + "Reads files, or standard input where none is named or one is named \"-\". Each "
                + "line that is not empty is a body, published byte for byte without its line "
                + "feed. Exit code 0 only when the cluster has every one of them.",
            operands: "[FILE]…",
            operandCount: 0...10_000,
            options: CommandOption.kafka + [CommandOption.config] + publishOptions
                + [ToolSettings.jsonOption]
        ),
        run: runPublish
    )

    private static let publishOptions = [
        CommandOption(
            "topic",
            argument: "NAME",
            "The full name of another topic than <prefix>raw."
        ),
        CommandOption("whole", "Each file is one body, whatever is in it."),
        CommandOption("key", argument: "TEXT", "The key of every record; none unless given."),
        CommandOption(
            "header",
            argument: "NAME=TEXT",
            isRepeatable: true,
            "A header of every record, such as correlation-id=42."
        ),
    ]

    private static func runPublish(
        _ arguments: CommandArguments,
        _ context: CommandContext
    ) async throws -> Int32 {
        let settings = try ToolSettings.read(arguments, context.environment, .kafka)
        let headers = try arguments.values("header").map(header)
        let topic =
            arguments.value("topic") ?? settings.topic(Topic.raw)
        let bodies = try BodySource(
            paths: arguments.operands.isEmpty ? ["-"] : arguments.operands,
            division: arguments.isSet("whole") ? .whole : .lines
        )
        let template = ProducerRecord(
            topic: topic,
            key: arguments.value("key").map { Array($0.utf8) },
            headers: headers
        )
        try await requireTopic(topic, settings.kafkaConfiguration)
        let producer = try KafkaProducer(configuration: settings.kafkaConfiguration)
        var publisher = Publisher(producer, topic: topic)
        let fault = await publish(bodies, template, &publisher)
        let report = await publisher.finish()
        await producer.close(deadline: .seconds(5))
        show(report, context.console, isJSON: arguments.isSet("json"))
        if let fault {
            throw fault
        }
        guard report.failedCount > 0 else { return ExitCode.success }
        return report.isClusterAtFault ? ExitCode.unavailable : ExitCode.negative
    }

    /// Publishes until the bodies end or cannot be read, and returns why they could not.
    private static func publish(
        _ bodies: BodySource,
        _ template: ProducerRecord,
        _ publisher: inout Publisher
    ) async -> CommandError? {
        var bodies = bodies
        do throws(CommandError) {
            // A cluster that is gone fails every record: the rest of the input stays unread.
            while !publisher.report.isClusterAtFault, let body = try bodies.next() {
                var record = template
                record.value = body.bytes
                await publisher.add(record, origin: body.origin)
            }
            return nil
        } catch {
            return error
        }
    }

    private static func header(_ text: String) throws(UsageError) -> KafkaHeader {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
            throw UsageError("--header: expected NAME=TEXT, found \"\(text)\"")
        }
        return KafkaHeader(
            name: String(text[..<equals]),
            text: String(text[text.index(after: equals)...])
        )
    }

    /// A topic that is made by writing to it would have other settings than the pipeline needs.
    private static func requireTopic(
        _ topic: String,
        _ configuration: [String: String]
    ) async throws {
        let metadata = try await KafkaAdmin.lend(configuration) { admin in
            try await admin.metadata(deadline: .seconds(30))
        }
        guard let found = metadata[topic: topic], found.error == nil else {
            throw CommandError(
                ExitCode.unavailable,
                "topic \(topic) is missing or not authorized: create it with "
                    + "'\(PipelineTool.name) topics'"
            )
        }
    }

    private static func show(_ report: PublishReport, _ console: Console, isJSON: Bool) {
        for failure in report.failures {
            console.note("\(failure.origin): not published: \(failure.error)")
        }
        guard !isJSON else {
            return console.print(json: report.json)
        }
        let counted = Quantity.counted(report.acknowledgedCount, "body", "bodies")
        let failed = report.failedCount == 0 ? "" : ", \(report.failedCount) not published"
        console.print("\(counted) acknowledged on \(report.topic)\(failed)")
    }
}
