import Kafka
import TestSupport

/// A consumer that a test drives: it polls, answers assignments from what is committed, and keeps
/// what it saw.
actor GroupMember {
    let consumer: KafkaConsumer
    private(set) var records: [ConsumerRecord] = []
    private(set) var assigned: Set<TopicPartition> = []
    private(set) var revoked: [TopicPartition] = []
    private(set) var lost: [TopicPartition] = []
    private(set) var errors: [PartitionError] = []
    /// Whether revocations are answered at once; else the test does it.
    private let completesRevocations: Bool

    init(_ configuration: [String: String], completesRevocations: Bool = true) throws {
        consumer = try KafkaConsumer(configuration: configuration)
        self.completesRevocations = completesRevocations
    }

    /// Polls once and answers.
    func step(recordsMax: Int = 1_000, bytesMax: Int = 1 << 20) async throws {
        let result = try await consumer.poll(recordsMax: recordsMax, bytesMax: bytesMax, wait: .milliseconds(20))
        records += result.records
        errors += result.errors
        for event in result.events { try await answer(event) }
    }

    private func answer(_ event: RebalanceEvent) async throws {
        switch event {
        case .assigned(let partitions):
            let committed = try await consumer.committed(partitions, deadline: .hopeless)
            try await consumer.assign(with: committed.mapValues(\.offset))
            assigned.formUnion(partitions)
        case .revoking(let partitions):
            revoked += partitions
            assigned.subtract(partitions)
            if completesRevocations { try await consumer.completeRevocation(partitions) }
        case .lost(let partitions):
            lost += partitions
            assigned.subtract(partitions)
        }
    }

    func run(until isDone: @Sendable (isolated GroupMember) -> Bool) async throws -> Bool {
        let end = ContinuousClock.now + .seconds(30)
        while !isDone(self) {
            guard ContinuousClock.now < end else { return false }
            try await step()
        }
        return true
    }

    func commit(_ offset: Int64, _ metadata: String, of partition: TopicPartition) async -> CommitOutcome {
        await consumer.commit([partition: OffsetCommit(offset: offset, metadata: metadata)], deadline: .seconds(10))
    }
}
