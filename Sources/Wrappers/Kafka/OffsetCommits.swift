import Synchronization

/// An offset and its metadata to commit for a partition; the broker stores both or neither.
package struct OffsetCommit: Sendable, Equatable {
    /// The offset at which consumption resumes: the last settled offset plus one.
    package let offset: Int64
    /// A text of at most 4,096 characters, a broker's default limit.
    package let metadata: String

    package init(offset: Int64, metadata: String) {
        self.offset = offset
        self.metadata = metadata
    }
}

/// The offset and metadata that a consumer group has committed for a partition.
package struct CommittedOffset: Sendable, Equatable {
    /// The offset at which consumption resumes, within `KafkaBounds.offsets`.
    ///
    /// `nil` if the group has committed nothing yet.
    package let offset: Int64?
    /// The text committed with the offset, empty without one.
    package let metadata: String

    /// - Parameter offset: the committed offset; a negative number means no offset.
    package init(offset: Int64?, metadata: String) {
        self.offset = offset.flatMap { $0 < 0 ? nil : KafkaBounds.offset($0) }
        self.metadata = metadata
    }
}

/// The result of one commit, partition by partition.
package struct CommitOutcome: Sendable, Equatable {
    /// The partitions whose offset was not committed; empty if all were committed.
    package let failures: [TopicPartition: KafkaError]
}

extension CommitOutcome {
    /// librdkafka reports an error of the whole request beside the errors of its partitions; the former applies to all
    /// partitions unless a partition's error explains it.
    init(error: KafkaError?, elements: [PartitionListElement]) {
        var failures: [TopicPartition: KafkaError] = [:]
        for element in elements { failures[element.topicPartition] = element.error }
        if let error, failures.isEmpty { for element in elements { failures[element.topicPartition] = error } }
        self.init(failures: failures)
    }

    static func failed(_ partitions: some Sequence<TopicPartition>, _ error: KafkaError) -> CommitOutcome {
        CommitOutcome(failures: Dictionary(uniqueKeysWithValues: partitions.map { ($0, error) }))
    }
}

/// The commits without a report from librdkafka, by a number that each commit carries.
///
/// The numbers replace pointers: a report after its deadline finds no waiter and is dropped, and a report that never
/// arrives leaks nothing.
final class PendingCommits: Sendable {
    private struct State {
        var next = 1
        var waiting: [Int: CheckedContinuation<CommitOutcome?, Never>] = [:]
        var early: [Int: CommitOutcome] = [:]
        var open: Set<Int> = []
    }

    private let state = Mutex(State())

    /// Registers a commit that is about to be sent.
    func open() -> Int {
        state.withLock { state in
            defer { state.next += 1 }
            state.open.insert(state.next)
            return state.next
        }
    }

    /// Waits for the report; `nil` if `resolve(_:with:)` gave up the wait.
    func outcome(of number: Int) async -> CommitOutcome? {
        await withCheckedContinuation { continuation in
            let (mustWait, early) = state.withLock { state in
                let early = state.early.removeValue(forKey: number)
                let mustWait = early == nil && state.open.contains(number)
                if mustWait { state.waiting[number] = continuation }
                return (mustWait, early)
            }
            if !mustWait { continuation.resume(returning: early) }
        }
    }

    /// Ends a wait with the report, or with `nil` to give up; a second call is ignored.
    func resolve(_ number: Int, with outcome: CommitOutcome?) {
        let continuation: CheckedContinuation<CommitOutcome?, Never>? = state.withLock { state in
            guard state.open.remove(number) != nil else { return nil }
            if let continuation = state.waiting.removeValue(forKey: number) { return continuation }
            state.early[number] = outcome
            return nil
        }
        continuation?.resume(returning: outcome)
    }

    /// Gives up all waits, because the consumer is closed.
    func abandonAll() {
        let numbers = state.withLock { Array($0.open) }
        for number in numbers { resolve(number, with: nil) }
    }
}
