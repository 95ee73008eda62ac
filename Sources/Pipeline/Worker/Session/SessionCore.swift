import Kafka
import Records
import Settings
import Telemetry

/// The decisions of a consumer session: which records it reads, holds, settles and commits.
///
/// The type is pure: each method is an event with its time as an argument, and creates commands. `ConsumerSession`
/// performs the commands and reports their results. Tests run any order of events.
struct SessionCore: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// A revocation that is waiting for batches in flight.
    struct Revocation: Sendable {
        let partitions: [TopicPartition]
        let deadline: Instant
    }

    let configuration: WorkerConfiguration
    var assignment: Assignment
    /// The stage's breaker.
    ///
    /// `nil` for stages without a breaker.
    var breaker: Breaker?
    var holds = Holds()
    var group = GroupStanding()
    /// Partitions to read again, with their start offsets.
    var rewinds: [TopicPartition: Int64] = [:]
    var batchesInFlight = 0
    /// Bytes of the outputs without an acknowledgement.
    var outputBytesInFlight = 0
    /// Whether a gap may be a batch that was too large to decompress, so that its records are unread.
    private var hasPassedOver = false
    private(set) var isStopped = false
    /// Whether retries have ended, because the time to stop has passed or the consumer is closed.
    private(set) var isAborted = false
    private var commands: [SessionCommand] = []
    private var consumerCommands: [ConsumerCommand] = []
    var pacing = Pacing()
    var revocations: [Revocation] = []

    init(_ configuration: WorkerConfiguration, breaker: Breaker?, cluster: String? = nil) {
        self.configuration = configuration
        self.breaker = breaker
        assignment = Assignment(counting: configuration.stage.dispositions, in: cluster)
    }

    mutating func perform(_ command: SessionCommand) { commands.append(command) }

    mutating func perform(_ command: ConsumerCommand) { consumerCommands.append(command) }

    mutating func log(_ level: LogLevel, _ message: StaticString, _ metadata: LogMetadata) {
        perform(.log(level, message, metadata))
    }

    /// Removes the commands that any task performs.
    mutating func takeCommands() -> [SessionCommand] {
        defer { commands = [] }
        return commands
    }

    /// Removes the commands that the polling task performs.
    mutating func takeConsumerCommands() -> [ConsumerCommand] {
        defer { consumerCommands = [] }
        return consumerCommands
    }

    mutating func stop() {
        isStopped = true
        perform(.turn)
        perform(.commit)
    }

    /// Discards the batches in flight and leaves the group, so that other workers take over.
    mutating func giveUp() {
        isAborted = true
        stop()
    }

    /// Discards the batches in flight; the next owner of the partitions reads them again.
    mutating func abort() {
        isAborted = true
        guard batchesInFlight > 0 else { return }
        log(.warning, "batches in flight discarded, their records are read again", ["batches": .int(batchesInFlight)])
    }

    /// Counts a batch as settled or given up.
    mutating func leave(outputBytes: Int = 0) {
        outputBytesInFlight -= outputBytes
        batchesInFlight -= 1
        perform(.setBatchesInFlight(batchesInFlight))
        perform(.turn)
    }
}

/// Events of the polling task.
extension SessionCore {
    /// Begins a turn and performs the due work.
    ///
    /// Returns the time to wait, or `nil` to poll at once.
    mutating func turn(_ now: Instant) -> Duration? {
        completeRevocations(now)
        keepHolds(now)
        seek()
        tickBreaker(now)
        showReadiness()
        let hasRoom = batchesInFlight < configuration.batchesInFlightMax && !isStopped
        let step = pacing.next(at: now, hasRoom: hasRoom, isStopped: isStopped, pauseAfter: configuration.pauseAfter)
        let partitions = assignment.readable
        switch step {
        case .wait(let time): return time
        case .poll: break
        case .pause:
            perform(.pause(partitions))
            report("partitions paused, too many batches in flight", count: partitions.count)
        case .resume:
            perform(.resume(partitions))
            report("partitions resumed", count: partitions.count)
        }
        return isStopped ? nil : pacing.gathering(now)
    }

    /// Applies the result of a poll; no error in the result ends the consumer.
    ///
    /// - Parameter lows: the first offsets of the logs in which the poll skipped offsets.
    mutating func polled(_ result: PollResult, lows: [TopicPartition: Int64] = [:], _ now: Instant) {
        record(result.errors)
        if result.batchesPassedOver > 0 {
            hasPassedOver = true
            log(
                .error, "batches of records decompress to more than the limit, passed over",
                ["batches": .int(result.batchesPassedOver), "limit.bytes": .int(KafkaConsumer.decompressedBytesMax)])
        }
        if let isBalanced = result.isGroupBalanced { group.isBalanced = isBalanced }
        for event in result.events { answer(event, now) }
        if !result.events.isEmpty {
            group.isBalanced = false
            completeRevocations(now)
        }
        let (count, hasMore) = (result.records.count, result.isFull)
        pacing.gatheredAt = now + configuration.gatherTime(after: count, hasMore: hasMore)
        // The gap counts as skipped if the log's start is unknown, because a person must investigate.
        let lows = hasPassedOver ? [:] : lows
        add(result.records, lows: lows, at: now)
        skip(to: result.ends, lows)
    }

    private mutating func add(_ records: [ConsumerRecord], lows: [TopicPartition: Int64], at now: Instant) {
        guard !records.isEmpty else { return }
        // Records arrive, so every refused operation is allowed now.
        group.refusals = []
        let taken = assignment.add(records, lows: lows, at: now)
        report(taken.batch.gaps)
        for partition in taken.rewound { log(.error, "offsets went backwards, counts restart", LogMetadata(partition)) }
        guard !taken.batch.isEmpty else { return }
        batchesInFlight += 1
        perform(.setBatchesInFlight(batchesInFlight))
        perform(.process(taken.batch))
    }

    /// Settles the offsets without a record before the ends of partitions that are read to their end, for example the
    /// control records of transactions.
    private mutating func skip(to ends: [PartitionEnd], _ lows: [TopicPartition: Int64]) {
        guard !ends.isEmpty else { return }
        let gaps = assignment.skip(to: ends, lows: lows)
        guard !gaps.isEmpty else { return }
        report(gaps)
        var increment = TallyIncrement()
        gaps.forEach { increment.add($0) }
        perform(.settled(increment))
        perform(.commit)
    }

    /// Reports the records that retention has removed, with the gaps of one partition in one line.
    private mutating func report(_ gaps: [OffsetGap]) {
        let removed = gaps.filter { $0.removed > 0 }
        for (partition, gaps) in Dictionary(grouping: removed, by: \.partition) {
            let first = gaps.reduce(Int64.max) { min($0, $1.first) }
            let count = gaps.reduce(Int64(0)) { $0 + $1.removed }
            var metadata = LogMetadata(partition)
            metadata.append("kafka.offset", .int(first))
            metadata.append("skipped.count", .int(count))
            if first == 0 {
                let text: StaticString = "records deleted before the first commit, counted as skipped"
                log(.error, text, metadata)
            } else {
                log(.warning, "offset gap, counted as skipped", metadata)
            }
        }
    }

    private mutating func report(_ message: StaticString, count: Int) {
        log(.info, message, ["partitions": .int(count)])
    }
}
