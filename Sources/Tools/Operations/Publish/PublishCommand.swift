import Commands
import Kafka
import Records
import Settings

extension ToolCommand {
    static let publish = ToolCommand(
        "publish",
        "Writes bodies to the raw topic, and waits until all are acknowledged.\n\n"
            + "Reads files, or standard input where none is named or one is named \"-\". Each "
            + "line that is not blank is a body, published byte for byte without its line "
            + "feed; a file without a body is an error. Exit code 0 only when the cluster has "
            + "every one of them. When it ends early, it prints the command that goes on with the "
            + "first one that the cluster lacks; a body that is published twice counts once.", operands: "[FILE]…",
        operandCount: 0...10_000, options: CommandOption.kafka + [.config] + publishOptions + [.json]
    ) { context in
        let settings = try context.settings(.kafka)
        let headers = try context.arguments.values("header").map(header)
        let topic = context.arguments.value("topic") ?? settings.topic(Topic.raw)
        let line = try context.arguments.value("from", as: .int(1...Int.max))
        let isWhole = context.arguments.isSet("whole")
        guard line == nil || !isWhole else {
            throw UsageError("--from is a line, and --whole files have none: name fewer files")
        }
        var bodies = try BodySource(
            paths: context.arguments.operands.isEmpty ? ["-"] : context.arguments.operands,
            division: isWhole ? .whole : .lines)
        let total = bodies.count(from: line ?? 1)
        try bodies.skip(to: line ?? 1)
        let template = ProducerRecord(
            topic: topic, key: context.arguments.value("key").map { Array($0.utf8) }, headers: headers)
        let producer = try await producer(of: topic, settings.kafkaConfiguration)
        let end = try await Interruption.cancelling { [bodies] in
            await publish(bodies, of: total, template, by: producer, on: context.console)
        }
        await producer.close(deadline: .seconds(5))
        show(end.report, context)
        if let fault = end.fault { throw fault }
        let report = end.report
        if end.isInterrupted, report.missing != nil { return ExitCode.interrupted }
        guard report.failedCount > 0 else { return ExitCode.success }
        return report.isClusterAtFault ? ExitCode.unavailable : ExitCode.negative
    }

    private static let publishOptions = [
        CommandOption("topic", argument: "NAME", "The full name of another topic than <prefix>raw."),
        CommandOption("from", argument: "LINE", "Begin at this line of the first file, from 1; not with --whole."),
        CommandOption("whole", "Each file is one body, its line breaks among its bytes."),
        CommandOption("key", argument: "TEXT", "The key of every record; none unless given."),
        CommandOption(
            "header", argument: "NAME=TEXT", isRepeatable: true, "A header of every record, such as correlation-id=42."),
    ]

    /// The state at the end of publishing.
    private struct PublishEnd {
        let report: PublishReport
        /// The error that prevented reading all bodies.
        var fault: CommandError?
        var isInterrupted = false
    }

    /// Publishes until the bodies end or cannot be read, the cluster fails, or the task is cancelled.
    private static func publish(
        _ bodies: BodySource, of total: Int?, _ template: ProducerRecord, by producer: KafkaProducer,
        on console: Console
    ) async -> PublishEnd {
        var bodies = bodies
        var publisher = Publisher(producer, topic: template.topic, total: total)
        var progress = ProgressLine(console: console)
        var fault: CommandError?
        await withTaskCancellationHandler {
            do throws(CommandError) {
                // Every further record fails once the cluster has failed, so the rest of the input is not read.
                while !publisher.report.isClusterAtFault, let body = try bodies.next() {
                    var record = template
                    record.value = body.bytes
                    await publisher.add(record, origin: body.origin)
                    let tried = publisher.report.triedCount
                    progress.show("publishing", done: tried, of: total, "body", "bodies")
                }
            } catch { fault = error }
            if !Task.isCancelled { _ = await publisher.finish() }
        } onCancel: {
            // Bodies in flight get a few more seconds.
            Task { await producer.close(deadline: .seconds(5)) }
        }
        let report = await publisher.stop(before: bodies.position)
        progress.clear()
        return PublishEnd(report: report, fault: fault, isInterrupted: Task.isCancelled)
    }

    private static func header(_ text: String) throws(UsageError) -> KafkaHeader {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
            throw UsageError("--header: expected NAME=TEXT, found \"\(text)\"")
        }
        return KafkaHeader(name: String(text[..<equals]), text: String(text[text.index(after: equals)...]))
    }

    /// Makes a producer of bodies.
    ///
    /// Throws if the topic does not exist; a topic created by writing to it would have wrong settings.
    static func producer(of topic: String, _ configuration: [String: String]) async throws -> KafkaProducer {
        let metadata = try await KafkaAdmin.lend(configuration) { admin in
            try await admin.metadata(deadline: .seconds(30))
        }
        guard let found = metadata[topic: topic], found.error == nil else {
            throw CommandError(
                ExitCode.unavailable,
                "topic \(topic) is missing or not authorized: create it with '\(PipelineTool.name) topics'")
        }
        return try KafkaProducer(configuration: configuration, isUncompressed: { Topic.isUncompressed($0) })
    }

    private static func show(_ report: PublishReport, _ context: OperatorContext) {
        let console = context.console
        for failure in report.failures { console.note("\(failure.origin): not published: \(failure.error)") }
        let command = report.missing.map { commandLine(context.arguments, from: $0) }
        guard !context.isJSON else { return console.print(json: report.json(goingOnWith: command)) }
        var line = Quantity.counted(report.acknowledgedCount, "body", "bodies")
        line += " acknowledged on \(report.topic)"
        if report.failedCount > 0 { line += ", \(Quantity.grouped(report.failedCount)) not published" }
        if report.missing != nil { line += ", \(report.untriedCount.map(Quantity.grouped) ?? "the rest") never tried" }
        console.print(line)
        guard let command, let missing = report.missing else { return }
        let input = missing.name == BodySource.name(of: "-") ? ", with the same input" : ""
        console.note("go on\(input) with: \(command)")
    }

    /// The command line that continues from a body.
    private static func commandLine(_ arguments: CommandArguments, from body: BodyOrigin) -> String {
        let line = body.line.flatMap { $0 > 1 ? "\($0)" : nil }
        let operands = Array(arguments.operands.dropFirst(body.input))
        return publish.syntax.line(arguments.with("from", line, operands: operands))
    }
}
