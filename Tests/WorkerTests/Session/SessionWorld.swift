import AppStore
@testable import Kafka
import OpenSSL
import Records
import Simulation

@testable import Worker

/// A small world around a `SessionCore`, in which a seed decides what happens next and what fails.
///
/// It has partitions with their logs, the consumer group, a stage and a producer.
struct SessionWorld {
    /// A broken promise.
    struct Violation: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }

    /// The batch that the settling task works on.
    struct Settling {
        var processed: ProcessedBatch
        /// The letters of the batch.
        ///
        /// `nil` until its outputs are acknowledged.
        var letters: [Letter]?
    }

    /// A commit on its way, and the assignments under which it was sent.
    struct Commit {
        let due: [TopicPartition: (PartitionClaim, OffsetCommit)]
        let assignments: [Int]
    }

    static let partitions = (0..<3).map { TopicPartition(topic: "raw", partition: Int32($0)) }
    static let configuration = {
        var configuration = WorkerConfiguration(
            stage: .fake, inputTopics: ["raw"], outputTopics: ["output"], nextTopic: "output",
            deadLetterTopic: "letters", consumerProperties: [:], producerProperties: [:])
        configuration.holdDelayMax = .seconds(1)
        configuration.gatherMax = .zero
        return configuration
    }()

    var random: SeededGenerator
    var now = ContinuousClock.now
    var logs: [WorldLog]
    /// The partitions that the group has given to this worker.
    var owned: Set<TopicPartition> = []
    /// Number of times that the group has given each partition to a worker.
    var assignments = Array(repeating: 0, count: partitions.count)
    /// Whether the group waits for this worker's answer to a rebalance.
    var isRebalancing = false
    var events: [RebalanceEvent] = []
    var positions: [TopicPartition: Int64] = [:]
    var paused: Set<TopicPartition> = []
    var core: SessionCore
    var loading: [[PartitionClaim]] = []
    var work: [Batch] = []
    var delivered: [ProcessedBatch] = []
    var settling: Settling?
    var commit: Commit?
    /// Whether everything succeeds from now on.
    var isHealed = false
    private(set) var steps = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        logs = Self.partitions.map { WorldLog($0, seed: seed) }
        core = SessionCore(Self.configuration, breaker: nil)
        core.breaker = breaker()
    }

    /// Whether something with this chance happens.
    mutating func happens(_ percent: UInt64) -> Bool { !isHealed && random.next() % 100 < percent }

    private mutating func breaker() -> Breaker? {
        guard random.next() % 4 > 0 else { return nil }
        let bounds = Breaker.Bounds(refusedMax: 4, armedMax: .seconds(3))
        return Breaker(settings: random.next() % 2 == 0 ? "a" : "b", bounds: bounds)
    }

    /// Runs some steps with faults, then without, until the group has committed everything.
    mutating func run(steps count: Int) throws {
        for _ in 0..<count { try step() }
        isHealed = true
        for _ in 0..<10_000 {
            if logs.allSatisfy(\.isFinished) { return }
            now += .milliseconds(200)
            try step()
        }
        throw Violation("not everything is committed: \(logs.map(\.committed))")
    }

    private mutating func step() throws {
        steps += 1
        switch random.next() % 16 {
        case 0..<4: poll()
        case 4..<7: try process()
        case 7..<11: try deliver()
        case 11, 12: try exchangeCommit()
        case 13:
            guard !loading.isEmpty else { return }
            let claims = loading.removeFirst()
            core.begin(claims, committed(claims.map(\.partition)))
        case 14: rebalance()
        default:
            if happens(3) { crash() }
            if happens(5) { core.reloaded(breaker()) }
            if happens(50) { now += .milliseconds(random.next() % 3_000) }
        }
        perform()
    }

    private func committed(_ partitions: [TopicPartition]) -> [TopicPartition: CommittedOffset] {
        partitions.reduce(into: [:]) { $0[$1] = logs[Int($1.partition)].committed }
    }

    /// The worker ends without a word; the next one begins at what is committed.
    private mutating func crash() {
        core = SessionCore(Self.configuration, breaker: breaker())
        (owned, isRebalancing, events) = ([], false, [])
        (positions, paused, loading) = ([:], [], [])
        (work, delivered, settling, commit) = ([], [], nil, nil)
    }

    /// Performs what any task performs.
    private mutating func perform() {
        for command in core.takeCommands() { if case .process(let batch) = command { work.append(batch) } }
    }
}

/// The consumer and its group.
extension SessionWorld {
    mutating func poll() {
        let wait = core.turn(now)
        perform(core.takeConsumerCommands())
        if let wait {
            now += wait
            return
        }
        var result = PollResult()
        (result.events, events) = (events, [])
        for (partition, position) in positions.sorted(by: { $0.key < $1.key }) where !paused.contains(partition) {
            let log = logs[Int(partition.partition)]
            let number = assignments[Int(partition.partition)]
            let all = log.records(from: position, assignment: number)
            let records = all.prefix(Int(random.next() % 4))
            result.records += records
            let end = records.last.map { $0.offset + 1 } ?? position
            if records.count == all.count {
                result.ends.append(PartitionEnd(partition: partition, offset: log.end))
                positions[partition] = log.end
            } else {
                positions[partition] = end
            }
        }
        result.isFull = random.next() % 2 == 0
        core.polled(result, now)
        perform(core.takeConsumerCommands())
    }

    private mutating func perform(_ commands: [ConsumerCommand]) {
        for command in commands {
            switch command {
            case .load(let claims): loading.append(claims)
            case .assign(let wanted):
                // A pause from an earlier time does not outlast the assignment.
                paused.subtract(wanted.keys)
                for (partition, offset) in wanted where owned.contains(partition) {
                    positions[partition] = offset ?? logs[Int(partition.partition)].start
                }
                isRebalancing = false
            case .pause(let partitions): paused.formUnion(partitions)
            case .resume(let partitions): paused.subtract(partitions)
            case .seek(let wanted, let isResuming):
                guard !happens(30) else { continue }
                for (partition, offset) in wanted where positions[partition] != nil { positions[partition] = offset }
                if isResuming { paused.subtract(wanted.keys) }
                core.sought(wanted)
            case .completeRevocation(let partitions):
                release(partitions)
                isRebalancing = false
            }
        }
    }

    private mutating func release(_ partitions: [TopicPartition]) {
        owned.subtract(partitions)
        for partition in partitions {
            positions[partition] = nil
            paused.remove(partition)
        }
    }

    /// The group decides: only when this worker has answered its last decision.
    mutating func rebalance() {
        guard !isRebalancing, events.isEmpty else { return }
        let some = Self.partitions.filter { _ in random.next() % 2 == 0 }
        let (mine, others) = (some.filter(owned.contains), some.filter { !owned.contains($0) })
        if !others.isEmpty {
            for partition in others where happens(50) {
                logs[Int(partition.partition)].otherWorkerCommits(random.next())
            }
            others.forEach { assignments[Int($0.partition)] += 1 }
            owned.formUnion(others)
            events.append(.assigned(others))
            isRebalancing = true
        } else if !mine.isEmpty, happens(50) {
            events.append(.revoking(mine))
            isRebalancing = true
        } else if !mine.isEmpty, happens(50) {
            release(mine)
            events.append(.lost(mine))
        }
    }

    /// Sends a commit, or brings the broker's answer to the one before, however late.
    mutating func exchangeCommit() throws {
        guard let sent = commit else {
            let due = core.assignment.commits()
            if !due.isEmpty { commit = Commit(due: due, assignments: assignments) }
            return
        }
        commit = nil
        var failures: [TopicPartition: KafkaError] = [:]
        let isUnanswered = happens(10)
        let isUnreachable = happens(10)
        for (partition, (_, offset)) in sent.due.sorted(by: { $0.key < $1.key }) {
            let index = Int(partition.partition)
            guard owned.contains(partition), sent.assignments[index] == assignments[index] else {
                failures[partition] = Self.fenced
                continue
            }
            if isUnreachable || isUnanswered { failures[partition] = Self.unanswered }
            if !isUnreachable { try logs[index].commit(offset) }
        }
        _ = core.committed(sent.due, CommitOutcome(failures: failures), isLast: false)
    }

    private static let fenced = KafkaError(code: .illegalGeneration, name: "F", message: "fenced")
    private static let unanswered = KafkaError(code: .timedOut, name: "T", message: "timed out")
}
