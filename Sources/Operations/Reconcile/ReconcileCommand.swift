import Foundation
import Kafka
import Settings
import Worker

extension ToolCommand {
    /// `pipeline reconcile`.
    static let reconcile = ToolCommand(
        syntax: CommandSyntax(
            "\(PipelineTool.name) reconcile",
            "Proves that no record was lost: counts what became of each.\n\n"
                + "Every commit of a worker carries its counts: how many records ended in which "
                + "disposition. In each partition of each stage the committed offset minus the "
                + "offset at which the counts began has to equal the sum of the dispositions, and "
                + "the next topic has to hold what was forwarded. May be run at any time, also "
                + "while the workers run. Exit code 1 when it does not add up, and when a stage "
                + "skipped offsets that held no record: retention may have removed them unread.\n\n"
                + "After a crash records are written again, so that a topic holds more than was "
                + "counted, which could hide as many losses. With --exact the topics themselves "
                + "are read, some hundred thousand records a second, and each output is counted "
                + "once, by its input. That proves nothing for a topic from which retention has "
                + "removed records. A record that ended otherwise when it was read again after a "
                + "crash, such as a duplicate in dedupe, has an output that is not counted; their "
                + "number is reported, because each could hide a loss in the same partition.",
            options: CommandOption.kafka
                + [
                    ToolSettings.groupOption, CommandOption.config, ToolSettings.jsonOption,
                    CommandOption.wide,
                    CommandOption("exact", "Read the topics and count each output once."),
                    CommandOption(
                        "skipped-max",
                        argument: "N",
                        "Skipped offsets of all stages that are dealt with; 0 unless given."
                    ),
                    MetricsFile.option("Also write the result as metrics"),
                ]
        ),
        run: runReconcile
    )

    private static func runReconcile(
        _ arguments: CommandArguments,
        _ context: CommandContext
    ) async throws -> Int32 {
        let settings = try ToolSettings.read(arguments, context.environment, .kafka)
        let metricsFile = try MetricsFile(arguments)
        let skippedMax = try arguments.value("skipped-max", as: .int(0...Int.max)) ?? 0
        var reconciliation = try await KafkaAdmin.lend(settings.kafkaConfiguration) { admin in
            try await AccountReader(admin, settings).read()
        }
        reconciliation.skippedMax = Int64(skippedMax)
        if arguments.isSet("exact") {
            let counter = ExactCounter(TopicReader(settings.kafkaConfiguration))
            var progress = ProgressLine(console: context.console)
            reconciliation = try await counter.count(reconciliation) { topic, done, total in
                progress.show("counting \(topic)", done: done, of: total, "record")
            }
            progress.clear()
        }
        try metricsFile?.write(reconciliation.metrics(at: Date()))
        if arguments.isSet("json") {
            context.console.print(json: reconciliation.json)
        } else {
            context.console.print(
                reconciliation.parts(showingPartitions: true),
                isWide: arguments.isSet("wide")
            )
        }
        return reconciliation.isBalanced ? ExitCode.success : ExitCode.negative
    }
}
