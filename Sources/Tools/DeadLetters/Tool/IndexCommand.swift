import JSON
import Postgres
import Settings
import Store
import Synchronization
import Telemetry

enum IndexCommand: DeadLetterCommand {
    static let name = "index"
    static let role = DatabaseRole.deadLetterIndex
    static let summary =
        "Keeps the index of the dead-letter topic, until it is stopped. Follows the topic as "
        + "a consumer group; a copy more takes some of the partitions. SIGTERM ends it in "
        + "order. What was done about dead letters is never touched."
    static let options: [CommandOption] = [
        CommandOption("group", argument: "NAME", "The consumer group; \(groupDefault) by default."),
        CommandOption(
            "until-end",
            "Index what is there, and exit; not with --rebuild, which does so anyway."
        ),
        CommandOption(
            "rebuild",
            "Read the topic from its beginning and make the index what it says, at once "
                + "for all readers; prints the difference. Decisions wait until it ends."
        ),
        CommandOption(
            "prune",
            "Remove the rows of letters that the topic's retention has removed, without "
                + "reading the topic; without --yes only count them. What was done about "
                + "them stays. May run beside the index, from a timer."
        ),
        CommandOption("yes", short: "y", "With --prune: remove them."),
        MetricsFile.option("With --prune --yes: write when it last succeeded"),
    ]

    static let groupDefault = "dead-letter-index"

    static func run(_ context: ToolContext) async throws -> Int32 {
        let isOfGroup =
            context.arguments.isSet("until-end") || context.arguments.value("group") != nil
        let (isRebuild, isPrune) = (
            context.arguments.isSet("rebuild"), context.arguments.isSet("prune")
        )
        guard isPrune || !context.arguments.isSet("yes") else {
            throw UsageError("--yes is for --prune")
        }
        let metricsFile = try MetricsFile(context.arguments)
        guard metricsFile == nil || context.arguments.isSet("yes") else {
            throw UsageError("--metrics is for --prune --yes")
        }
        if isRebuild || isPrune {
            guard !isOfGroup, isRebuild != isPrune else {
                throw UsageError("--rebuild and --prune need no group: leave out the rest")
            }
        }
        let client = try await context.database()
        if isPrune { return try await prune(context, client, metricsFile) }
        if isRebuild { return try await rebuild(context, client) }
        let isUntilEnd = context.arguments.isSet("until-end")
        let notes = IndexNotes(context.console, isCounting: isUntilEnd)
        defer { notes.clear() }
        let indexer = DeadLetterIndexer(
            context.topic,
            client: client,
            settings: .init(group: context.arguments.value("group") ?? groupDefault),
            report: { notes.show($0) }
        )
        try await Interruption.cancelling {
            try await context.followingSecrets(of: client, renew: { indexer.renewClient() }) {
                try await indexer.run(untilEnd: isUntilEnd)
            }
        }
        notes.finish()
        return ExitCode.success
    }

    private static func prune(
        _ context: ToolContext,
        _ client: PostgresClient,
        _ metricsFile: MetricsFile?
    ) async throws -> Int32 {
        let topic = context.topic
        let isConfirmed = context.arguments.isSet("yes")
        let count = try await Interruption.cancelling {
            try await DeadLetterPrune(topic: topic, client: client).run(isRemoving: isConfirmed)
        }
        try metricsFile?.write("prune", isSuccess: true)
        let line = DeadLetterPrune.text(count, isRemoved: isConfirmed)
        context.console.print(
            ["rows": count, "is_removed": isConfirmed],
            or: line,
            context.arguments
        )
        guard !isConfirmed, count > 0 else { return ExitCode.success }
        context.console.note("nothing is removed yet: run it again with --yes")
        return ExitCode.negative
    }

    private static func rebuild(
        _ context: ToolContext,
        _ client: PostgresClient
    ) async throws -> Int32 {
        let topic = context.topic
        let difference = try await Interruption.cancelling {
            try await context.showingProgress("reading \(topic.name)") { progress in
                try await DeadLetterRebuild(topic: topic, client: client).run(progress: progress)
            }
        }
        context.console.print(difference, context.arguments)
        return ExitCode.success
    }
}

/// The indexer's reports, in words; up to an end, its records as a line of progress.
final class IndexNotes: Sendable {
    private struct Count {
        var line: ProgressLine
        var done: Int64 = 0
        var total: Int64?
    }

    private let console: Console
    /// Nil if each transaction has a note of its own.
    private let count: Mutex<Count?>

    init(_ console: Console, isCounting: Bool) {
        self.console = console
        count = Mutex(isCounting ? Count(line: ProgressLine(console: console)) : nil)
    }

    func show(_ event: DeadLetterIndexer.Event) {
        let isCounted = count.withLock { count in
            guard var counting = count else { return false }
            defer { count = counting }
            switch event {
            case .ahead(let records): counting.total = records
            case .indexed(let records, _): counting.done += Int64(records)
            default: return false
            }
            let (done, total) = (counting.done, counting.total)
            counting.line.show("indexing", done: done, of: total, "record")
            return true
        }
        if !isCounted { console.interject(Self.text(event)) }
    }

    /// Leaves how many records were indexed.
    func finish() {
        count.withLock { count in
            guard let done = count?.done else { return }
            count?.line.finish("indexed \(Quantity.counted(done, "record"))")
        }
    }

    /// Erases a line of progress that no end has replaced, before a fault is shown.
    func clear() {
        count.withLock { $0?.line.clear() }
    }

    private static func text(_ event: DeadLetterIndexer.Event) -> String {
        switch event {
        case .ahead(let records): "\(records) records to index"
        case .assigned(let partitions):
            "reading partitions \(partitions.map(String.init).joined(separator: ", "))"
        case .indexed(let records, let foreign):
            "indexed \(records) records"
                + (foreign > 0 ? ", \(foreign) of them no dead letters" : "")
        case .passedOver(let partition, let offset, let why):
            "skipped partition \(partition) offset \(offset): \(why)"
        case .madeAnew(let partition):
            "the topic was recreated: partition \(partition) is indexed from its beginning; "
                + "'\(DeadLetterTool.name) index --rebuild' removes the former rows"
        case .retrying(let what, let error, let delay):
            "\(what) does not answer, "
                + (delay > .zero ? "trying again in \(seconds(delay))" : "waiting for it")
                + ": \(error)"
        case .recovered(let what):
            "\(what) answers again"
        }
    }

    private static func seconds(_ duration: Duration) -> String {
        "\((duration / .seconds(1) * 10).rounded() / 10) s"
    }
}
