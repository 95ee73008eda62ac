import AppStore
import Commands
import Foundation
import Kafka
import Platform
import Settings
import Telemetry
import Worker

extension ToolCommand {
    static let reconcile = ToolCommand(
        "reconcile",
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
            + "number is reported, because each could hide a loss in the same partition.\n\n"
            + "With --with-apple the notifications that Apple's server lists are counted "
            + "instead, by what became of them here, and those that are missing are listed. "
            + "It asks the database, for which recovery-worker has read Apple's list. Exit "
            + "code 1 where one is missing, or a list was not read over the whole time.",
        options: CommandOption.kafka + [
            .groupPrefix, .postgres, .config, .json, .wide,
            CommandOption("with-apple", "Count against Apple's own list."),
            CommandOption(
                "since", argument: "DATE",
                "With --with-apple: what was signed from then on; of the last 7 days unless given."),
            CommandOption("exact", "Read the topics and count each output once."), .skippedMax,
            MetricsFile.option("Also write the result as metrics"),
        ]
    ) { context in
        if context.arguments.isSet("with-apple") { return try await reconcileWithApple(context) }
        guard context.arguments.value("since") == nil else { throw UsageError("--since goes with --with-apple") }
        let settings = try context.settings(.kafka)
        let metricsFile = try MetricsFile(context.arguments)
        let skippedMax = try context.arguments.skippedMax
        var reconciliation = try await KafkaAdmin.lend(settings.kafkaConfiguration) { admin in
            try await AccountReader(admin, settings).read()
        }
        reconciliation.skippedMax = skippedMax
        if context.arguments.isSet("exact") {
            let counter = ExactCounter(reader: TopicReader(settings.kafkaConfiguration))
            var progress = ProgressLine(console: context.console)
            reconciliation = try await counter.count(reconciliation) { topic, done, total in
                progress.show("counting \(topic)", done: done, of: total, "record")
            }
            progress.clear()
        }
        try metricsFile?.write(reconciliation.metrics(at: Date()))
        context.console.print(reconciliation, context.arguments)
        return ExitCode.answer(reconciliation.isBalanced)
    }

    private static func reconcileWithApple(_ context: OperatorContext) async throws -> Int32 {
        let arguments = context.arguments
        for option in ["exact", "skipped-max", "metrics"]
        where arguments.isSet(option) || arguments.value(option) != nil {
            throw UsageError("--\(option) does not go with --with-apple")
        }
        let since = try arguments.value("since", as: .instant)
        let week = Timestamp(milliseconds: WallClock.milliseconds - 7 * Timestamp.millisecondsPerDay)
        let settings = try context.settings(.database)
        let account = try await AppleAccount.read(since: since ?? week, settings)
        context.console.print(account, arguments)
        return ExitCode.answer(account.isBalanced)
    }
}

extension CommandOption {
    static let skippedMax = CommandOption(
        "skipped-max", argument: "N", "Skipped offsets of all stages that are dealt with; 0 unless given.")
}

extension CommandArguments {
    var skippedMax: Int64 { get throws(UsageError) { Int64(try value("skipped-max", as: .int(0...Int.max)) ?? 0) } }
}
