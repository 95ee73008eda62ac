import Kafka
import Records
import Synchronization
import Worker

extension StageDescription {
    /// The description of `FakeStage`.
    static let fake = fake("fake")

    static func fake(_ name: String) -> StageDescription {
        StageDescription(
            name: name, inputTopic: "raw", readsObservations: false, outputTopic: "output",
            dispositions: [.forwarded, .ignored])
    }
}

extension Disposition {
    static let forwarded = Disposition("forwarded", "go on")
    static let ignored = Disposition("ignored", "hold nothing")
}

/// A stage whose verdicts and faults a test decides.
///
/// The default forwards each record to one topic with its value unchanged.
final class FakeStage: Stage {
    struct State {
        var processed: [ConsumerRecord] = []
        /// Number of records in each call of `process`.
        var batchSizes: [Int] = []
        var recordsMax = Int.max
        var acknowledged: [ConsumerRecord] = []
        var abandoned: Set<TopicPartition> = []
        /// Errors that the next calls of `process` throw, one each.
        var faults: [any Error] = []
        /// Errors that the next calls of `acknowledged` throw, one each.
        var acknowledgeFaults: [any Error] = []
        /// Whether `process` is kept from returning.
        var isClosed = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        /// Maximum records of a batch that a call processes.
        ///
        /// `nil` for all.
        var processedMax: Int?
        /// Whether `probe` fails.
        var isUnreachable = false
    }

    struct Fault: Error {}

    private let state = Mutex(State())
    private let verdict: @Sendable (ConsumerRecord) -> Verdict
    let outboxes: [any Outbox]

    init(
        outbox: (any Outbox)? = nil, beside: (any Outbox)? = nil,
        _ verdict: @escaping @Sendable (ConsumerRecord) -> Verdict
    ) {
        outboxes = [outbox, beside].compactMap(\.self)
        self.verdict = verdict
    }

    func probe() async throws { if seen.isUnreachable { throw Fault() } }

    convenience init(forwardingTo topic: String, outbox: (any Outbox)? = nil, beside: (any Outbox)? = nil) {
        self.init(outbox: outbox, beside: beside) { record in
            Verdict(
                .forwarded, outputs: [ProducerRecord(topic: topic, key: record.key, value: record.value)],
                evidence: .accepted)
        }
    }

    var recordsMax: Int { seen.recordsMax }

    var seen: State { state.withLock { $0 } }

    func order(_ change: (inout sending State) -> Void) { state.withLock { change(&$0) } }

    /// Keeps `process` from returning until `open()`.
    func close() { state.withLock { $0.isClosed = true } }

    func open() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isClosed = false
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func process(_ records: [ConsumerRecord]) async throws -> [Verdict] {
        let fault: (any Error)? = state.withLock { state in
            state.processed += records
            state.batchSizes.append(records.count)
            return state.faults.isEmpty ? nil : state.faults.removeFirst()
        }
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                guard state.isClosed else { return true }
                state.waiting.append(continuation)
                return false
            }
            if isOpen { continuation.resume() }
        }
        if let fault { throw fault }
        return records.prefix(seen.processedMax ?? .max).map(verdict)
    }

    func acknowledged(_ records: [ProcessedRecord]) async throws {
        let fault: (any Error)? = state.withLock { state in
            guard state.acknowledgeFaults.isEmpty else { return state.acknowledgeFaults.removeFirst() }
            state.acknowledged += records.map(\.record)
            return nil
        }
        if let fault { throw fault }
    }

    func abandoned(_ partitions: [TopicPartition]) async { state.withLock { $0.abandoned.formUnion(partitions) } }
}
