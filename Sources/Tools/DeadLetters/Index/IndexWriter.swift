import Kafka
import Postgres
import Store
import Synchronization

/// Writes batches of the index, and commits their offsets once PostgreSQL has them.
struct IndexWriter: Sendable {
    private struct TooSlow: Error {}

    let topic: String
    let client: PostgresClient
    let consumer: KafkaConsumer
    let retrying: Retrying

    private static let commitDeadline = Duration.seconds(10)

    /// Starts writing; wakes the consumer's `poll` when it has ended.
    func write(
        _ records: [DeadLetterIndexTable.Record],
        nextOffsets: [Int32: Int64]
    ) -> PendingWrite {
        PendingWrite(records: records, nextOffsets: nextOffsets) {
            try await write(records[...], nextOffsets: nextOffsets)
            await commit(nextOffsets)
        } ended: { [consumer] in
            consumer.wake()
        }
    }

    /// Writes a batch in halves if PostgreSQL rejects it or takes too long; a record that it will
    /// never take counts as no dead letter.
    private func write(
        _ records: ArraySlice<DeadLetterIndexTable.Record>,
        nextOffsets: [Int32: Int64]
    ) async throws {
        do {
            try await retrying.run {
                do {
                    _ = try await DeadLetterIndexTable.add(
                        Array(records),
                        of: topic,
                        nextOffsets: nextOffsets,
                        on: client
                    )
                } catch let error as PostgresError where error.isTooSlow && records.count > 1 {
                    throw TooSlow()
                }
            }
        } catch is TooSlow {
            try await writeHalves(records, nextOffsets: nextOffsets)
        } catch let error as PostgresError where error.isRecordFault {
            guard records.count == 1, let record = records.first else {
                return try await writeHalves(records, nextOffsets: nextOffsets)
            }
            retrying.report(
                .passedOver(
                    partition: record.partition,
                    offset: record.offset,
                    why: error.recordFaultDetail
                )
            )
            try await write([(record.partition, record.offset, row: nil)], nextOffsets: nextOffsets)
        }
    }

    private func writeHalves(
        _ records: ArraySlice<DeadLetterIndexTable.Record>,
        nextOffsets: [Int32: Int64]
    ) async throws {
        let middle = records.startIndex + records.count / 2
        var offsets: [Int32: Int64] = [:]
        for record in records[..<middle] {
            offsets[record.partition] = record.offset + 1
        }
        try await write(records[..<middle], nextOffsets: offsets)
        try await write(records[middle...], nextOffsets: nextOffsets)
    }

    /// Commits for those who watch the group's lag: reading begins after the rows in PostgreSQL, so
    /// the next commit makes up for a failed one.
    private func commit(_ nextOffsets: [Int32: Int64]) async {
        var commits: [TopicPartition: OffsetCommit] = [:]
        for (partition, offset) in nextOffsets {
            let partition = TopicPartition(topic: topic, partition: partition)
            commits[partition] = OffsetCommit(offset: offset, metadata: "")
        }
        _ = await consumer.commit(commits, deadline: Self.commitDeadline)
    }
}

/// A batch that is being written.
final class PendingWrite: Sendable {
    let records: [DeadLetterIndexTable.Record]
    let nextOffsets: [Int32: Int64]
    private let state = Mutex<Result<Void, any Error>?>(nil)
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(
        records: [DeadLetterIndexTable.Record],
        nextOffsets: [Int32: Int64],
        _ body: @escaping @Sendable () async throws -> Void,
        ended: @escaping @Sendable () -> Void
    ) {
        self.records = records
        self.nextOffsets = nextOffsets
        let work = Task {
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(try await body())
            } catch {
                outcome = .failure(error)
            }
            state.withLock { $0 = outcome }
            ended()
        }
        task.withLock { $0 = work }
    }

    /// Nil until the write has ended.
    var outcome: Result<Void, any Error>? { state.withLock { $0 } }

    /// Waits for the end; stops retrying after the deadline.
    func finish(within deadline: Duration) async -> Result<Void, any Error> {
        guard let task = task.withLock({ $0 }) else { return .success(()) }
        let timer = Task {
            try await Task.sleep(for: deadline)
            task.cancel()
        }
        await task.value
        timer.cancel()
        return outcome ?? .failure(CancellationError())
    }
}
