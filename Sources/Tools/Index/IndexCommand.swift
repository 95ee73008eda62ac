import Commands
package import DeadLetters
import JSON
import Kafka
package import Postgres
package import Settings
package import Store
import Synchronization
import Telemetry
import Topology
import Worker

package enum IndexCommand: DeadLetterCommand {
    package static let name = "index"
    package static let role = DatabaseRole.deadLetterIndex
    package static let summary =
        "Keeps the index of the dead-letter topic until it is stopped. A worker like the others, "
        + "with health, metrics and reload of its settings; further copies share the "
        + "partitions. The history of dead letters is never changed."
    package static let options: [CommandOption] = [
        CommandOption("until-end", "Index what the topic holds now, and exit."),
        CommandOption(
            "rebuild",
            "Remove all rows and set the group back to the topic's beginning, while no copy runs: "
                + "the next one reads the topic again. Without --yes, only count the rows. The "
                + "history of the letters is kept."),
        CommandOption(
            "prune",
            "Remove the rows of letters that the topic's retention has removed, without "
                + "reading the topic. Without --yes, only count them. The history of the "
                + "letters is kept. May run beside the index, from a timer."),
        CommandOption("yes", short: "y", "With --prune and --rebuild: remove the rows."),
        MetricsFile.option("With --prune --yes: write when it last succeeded"), .check, .connect,
    ]

    package static func run(_ context: ToolContext) async throws -> Int32 {
        let modes = ["until-end", "rebuild", "prune", "check"].filter(context.arguments.isSet)
        let isCheck = try CommandOption.isCheckWanted(context.arguments)
        guard modes.count <= 1 else { throw UsageError("expected one of --\(modes.joined(separator: " and --"))") }
        let isRemoving = context.arguments.isSet("yes")
        let metricsFile = try MetricsFile(context.arguments)
        guard metricsFile == nil || (modes == ["prune"] && isRemoving) else {
            throw UsageError("--metrics is for --prune --yes")
        }
        switch modes.first {
        case "rebuild": return show(try await rebuild(context, isRemoving), isRemoved: isRemoving, context)
        case "prune":
            let count = try await prune(context, isRemoving)
            try metricsFile?.write("prune", isSuccess: true)
            return show(count, isRemoved: isRemoving, context)
        default: break
        }
        guard !isRemoving else { throw UsageError("--yes is for --prune and --rebuild") }
        let source = SettingsSource(
            schema: WorkerProgram.deadLetterIndex.schema,
            environment: context.arguments.laid(over: context.environment, by: DatabaseSettings.overrides),
            filePath: context.arguments.value("config"), problems: { WorkerProcess.problems(.deadLetterIndex, $0) })
        let values = try source.read()
        if isCheck { return await check(context, values) }
        guard modes.first == "until-end" else { return await WorkerProcess.run(.deadLetterIndex, values, from: source) }
        let end = IndexEnd(topic: context.topic, client: try await context.database())
        let isReached = Atomic(false)
        let exitCode = await WorkerProcess.run(.deadLetterIndex, values, from: source) {
            await end.reach()
            isReached.store(!Task.isCancelled, ordering: .releasing)
        }
        guard exitCode != ExitCode.success || isReached.load(ordering: .acquiring) else { throw CancellationError() }
        return exitCode
    }

    private static func check(_ context: ToolContext, _ values: SettingsValues) async -> Int32 {
        context.console.print(text: values.report)
        guard context.arguments.isSet(CommandOption.connect.long) else { return ExitCode.success }
        let findings = await WorkerProcess.findings(.deadLetterIndex, values)
        return context.console.print(findings.outcome(of: "\(DeadLetterTool.name) \(name)"))
    }

    /// - Returns: the number of rows that were removed, or would be.
    private static func prune(_ context: ToolContext, _ isRemoving: Bool) async throws -> Int {
        let prune = DeadLetterPrune(topic: context.topic, client: try await context.database())
        return try await Interruption.cancelling { try await prune.run(isRemoving: isRemoving) }
    }

    private static func rebuild(_ context: ToolContext, _ isRemoving: Bool) async throws -> Int {
        let rebuild = DeadLetterRebuild(
            topic: context.topic, group: context.group(.deadLetterIndex), client: try await context.database())
        return try await rebuild.run(isRemoving: isRemoving)
    }

    private static func show(_ count: Int, isRemoved: Bool, _ context: ToolContext) -> Int32 {
        let rows = Quantity.counted(Int64(count), "row")
        context.console.print(
            ["rows": count, "is_removed": isRemoved], or: "\(rows) \(isRemoved ? "removed" : "would be removed")",
            context.arguments)
        guard !isRemoved, count > 0 else { return ExitCode.success }
        context.console.note("nothing is removed yet: run it again with --yes")
        return ExitCode.negative
    }
}

/// The point at which the index has read everything that the topic held when the wait began.
package struct IndexEnd: Sendable {
    let topic: DeadLetterTopic
    let client: PostgresClient

    package init(topic: DeadLetterTopic, client: PostgresClient) {
        self.topic = topic
        self.client = client
    }

    /// Waits for this point, and repeats failed requests until the task is cancelled.
    package func reach() async {
        var ends: [Int32: Int64]?
        while !Task.isCancelled {
            if let reached = try? await isReached(&ends), reached { return }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    private func isReached(_ ends: inout [Int32: Int64]?) async throws -> Bool {
        if ends == nil {
            let marks = try await topic.watermarks().filter { $0.value.low < $0.value.high }
            ends = marks.mapValues(\.high)
        }
        let next = try await DeadLetterIndexTable.progress(on: client).nextOffsets(of: topic.name)
        return ends?.allSatisfy { next[$0.key] ?? 0 >= $0.value } ?? false
    }
}
