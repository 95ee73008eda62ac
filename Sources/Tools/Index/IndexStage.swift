package import DeadLetters
import Holdings
package import Kafka
package import Postgres
package import Store
import Synchronization
package import Telemetry
import Topology
package import Worker

/// Writes the letters of the dead-letter topic into the index.
///
/// A record that is no dead letter, or that PostgreSQL refuses, is counted and logged. It gets no
/// dead letter, which this stage would read again. Rows and the offset after them are written in
/// one transaction, so that a record counts once even if another copy reads it again.
package final class IndexStage: DatabaseStage {
    package let client: PostgresClient
    package let size: TransactionSize
    private let topic: DeadLetterTopic
    private let log: Log
    /// The offset after the last batch, by partition.
    private let expected = Mutex<[Int32: Int64]>([:])

    package init(_ topic: DeadLetterTopic, client: PostgresClient, log: Log) {
        self.topic = topic
        self.client = client
        self.log = log
        size = TransactionSize(statementDeadline: client.statementDeadline)
    }

    /// - Throws: a `CommandError` if the database holds the index of another topic.
    package func probe() async throws {
        try await SchemaVersion.require(client)
        try await DeadLetterIndexTable.progress(on: client).requireOwner(topic)
    }

    package func process(_ records: [ConsumerRecord]) async throws -> [Verdict] {
        try await checkContinuity(of: records)
        let verdicts = try await RecordFaults.isolating(records[...], size: size) { part in
            try await add(part)
        } refused: { _, _ in
            Verdict(.foreign)
        }
        expected.withLock { expected in
            for record in records { expected[record.topicPartition.partition] = record.offset + 1 }
        }
        return verdicts
    }

    private func add(_ part: ArraySlice<ConsumerRecord>) async throws -> [Verdict] {
        var read = part.map { record -> DeadLetterIndexTable.Record in
            (record.topicPartition.partition, record.offset, DeadLetterRow(record))
        }
        do { try await write(read) } catch let error as PostgresError where error.isRecordFault && read.count == 1 {
            report(read[0], error.recordFaultDetail)
            read[0].row = nil
            try await write(read)
            return [Verdict(.foreign)]
        }
        return read.map { record in
            guard record.row == nil else { return Verdict(.indexed) }
            report(record, "it is no dead letter")
            return Verdict(.foreign)
        }
    }

    private func write(_ records: [DeadLetterIndexTable.Record]) async throws {
        let next = Dictionary(records.map { ($0.partition, $0.offset + 1) }, uniquingKeysWith: max)
        _ = try await DeadLetterIndexTable.add(records, of: topic.name, nextOffsets: next, on: client)
    }

    private func report(_ record: DeadLetterIndexTable.Record, _ reason: String) {
        log.warning(
            "record not indexed",
            [
                "kafka.partition": .int(record.partition), "kafka.offset": .int(record.offset),
                "index.reason": .string(reason),
            ])
    }

    /// Restarts the index of a partition if its topic was recreated.
    ///
    /// Records below the indexed offset are repetitions unless the topic ends before that offset.
    private func checkContinuity(of records: [ConsumerRecord]) async throws {
        var first: [Int32: Int64] = [:]
        for record in records.reversed() { first[record.topicPartition.partition] = record.offset }
        let jumped = expected.withLock { expected in first.filter { expected[$0.key] != $0.value } }
        guard !jumped.isEmpty else { return }
        let indexed = try await DeadLetterIndexTable.progress(on: client).nextOffsets(of: topic.name)
        let repeated = jumped.filter { $0.value < indexed[$0.key] ?? 0 }.keys
        guard !repeated.isEmpty else { return }
        let marks = try await topic.watermarks()
        for partition in repeated where marks[partition]?.high ?? 0 < indexed[partition] ?? 0 {
            log.warning(
                "topic recreated, its letters are indexed again",
                ["kafka.topic": .string(topic.name), "kafka.partition": .int(partition)])
            let start = DeadLetterIndexTable.Progress(topic: topic.name, partition: partition, nextOffset: 0)
            try await DeadLetterIndexTable.set([start], on: client)
        }
    }
}
