import AppStore
package import Store
import Entitlements
import Holdings
package import Kafka
package import Postgres
import Records
import Synchronization
import Topology
package import Worker

/// Drops records without new information about a transaction, a renewal or an app transaction.
///
/// A forwarded record is unchanged except `input`, which names its position in the first topic. An
/// ID is remembered only after the broker acknowledged the record, so a crash in between forwards
/// the record twice and loses nothing. A dead letter adds nothing to the memory. A known record is
/// forwarded all the same if a replay sent its body again for a later stage's dead letter.
package final class DedupeStage: DatabaseStage {
    package let client: PostgresClient
    package let size: TransactionSize
    private let memory: DedupeMemory
    private let pruning: RevisionPruning
    private let uniqueTopic: String
    private let limits: OutputLimits?
    private let marksSize: TransactionSize
    private let inFlight = Mutex(InFlight<DedupeMemory.Mark>())

    /// - Parameters:
    ///   - uniqueTopic: the topic of the forwarded observations.
    ///   - retention: the time for which an ID is remembered.
    ///   - pruneInterval: the time between deletions of older IDs.
    ///   - limits: the size limits of the topics; a record beyond them does not count as forwarded.
    ///     `nil` leaves this check to the loop.
    package init(
        client: PostgresClient, uniqueTopic: String, retention: Duration, pruneInterval: Duration,
        limits: OutputLimits? = nil
    ) {
        self.client = client
        memory = DedupeMemory(client: client)
        pruning = RevisionPruning(client: client, retention: retention, interval: pruneInterval)
        self.uniqueTopic = uniqueTopic
        self.limits = limits
        size = TransactionSize(statementDeadline: client.statementDeadline)
        marksSize = TransactionSize(statementDeadline: client.statementDeadline)
    }

    package var recordsMax: Int { min(size.recordsMax, marksSize.recordsMax) }

    package func process(_ records: [ConsumerRecord]) async throws -> [Verdict] {
        let version = limits?.version
        var verdicts = try await verdicts(on: records)
        if let limits, verdicts.contains(where: \.isTooLarge) {
            await limits.askAgain()
            if limits.version != version { verdicts = try await self.verdicts(on: records) }
        }
        return try await completed(verdicts, of: records)
    }

    private func verdicts(on records: [ConsumerRecord]) async throws -> [Verdict] {
        forgetReadAgain(records)
        return try await isolating(records[...]) { try await decide($0) }
    }

    /// Remembers the contents of forwarded records after their acknowledgement.
    package func acknowledged(_ records: [ProcessedRecord]) async throws {
        let settled = Self.offsets(of: records.map(\.record))
        let refused = Self.refused(records)
        let marks = inFlight.withLock { inFlight in
            settled.flatMap { partition, offsets in
                inFlight.brought(by: partition, offsets: offsets).filter {
                    refused[partition]?.contains($0.offset) != true
                }.map(\.value)
            }
        }
        // A record that PostgreSQL cannot store is forwarded each time; `entitle-worker` decides about it.
        _ = try await RecordFaults.isolating(marks[...], size: marksSize) { marks in
            try await memory.raise(to: Array(marks))
            return marks.map { _ in }
        } refused: { _, _ in
        }
        inFlight.withLock { inFlight in
            for (partition, offsets) in settled { inFlight.forget(partition, offsets: offsets) }
        }
        pruning.beginIfDue()
    }

    /// The range from the first to the last record of each partition.
    ///
    /// Records between them were in the same batch, or added nothing in flight.
    private static func offsets(of records: [ConsumerRecord]) -> [TopicPartition: ClosedRange<Int64>] {
        var offsets: [TopicPartition: ClosedRange<Int64>] = [:]
        for record in records {
            let first = offsets[record.topicPartition]?.lowerBound ?? record.offset
            offsets[record.topicPartition] = first...record.offset
        }
        return offsets
    }

    /// The offsets of records whose forward was refused.
    private static func refused(_ records: [ProcessedRecord]) -> [TopicPartition: Set<Int64>] {
        var refused: [TopicPartition: Set<Int64>] = [:]
        for index in records.indices where records[index].verdict.isRefused {
            let record = records[index].record
            refused[record.topicPartition, default: []].insert(record.offset)
        }
        return refused
    }

    package func abandoned(_ partitions: [TopicPartition]) async {
        inFlight.withLock { inFlight in
            for partition in partitions { inFlight.forget(partition, offsets: .min ... .max) }
        }
    }

    /// Forgets records that are read again: they were not forwarded, even if this worker marked them as such.
    private func forgetReadAgain(_ records: [ConsumerRecord]) {
        let offsets = Self.offsets(of: records)
        inFlight.withLock { inFlight in
            for (partition, offsets) in offsets { inFlight.forget(partition, offsets: offsets.lowerBound ... .max) }
        }
    }
}

extension DedupeStage {
    private func decide(_ records: ArraySlice<ConsumerRecord>) async throws -> [Verdict] {
        var batch = DedupeBatch(recordsExpected: records.count)
        var readings: [Result<DedupeBatch.Record, ObservationError>] = []
        readings.reserveCapacity(records.count)
        for record in records {
            readings.append(
                Result { () throws(ObservationError) in
                    let observation = try Observation(record)
                    return batch.add(
                        observation.parts, inputRange: observation.inputRange, writtenAt: observation.bodyWrittenAt)
                })
        }
        // Read `inFlight` before PostgreSQL: a mark that leaves `inFlight` in between is then found
        // in PostgreSQL.
        inFlight.withLock { inFlight in for arrival in inFlight.all { batch.add(arrival.value) } }
        for remembered in try await memory.recall(batch.keys) { batch.add(remembered.revision, at: remembered.index) }
        var limits = limits?.reader()
        return zip(records, readings).map { record, reading in verdict(on: record, reading, in: &batch, limits: &limits)
        }
    }

    /// Decides on a parsed record; if it is forwarded, adds its marks to those in flight.
    private func verdict(
        on record: ConsumerRecord, _ reading: Result<DedupeBatch.Record, ObservationError>, in batch: inout DedupeBatch,
        limits: inout OutputLimits.Reader?
    ) -> Verdict {
        do {
            let reading = try reading.get()
            let decision = batch.decide(reading)
            var verdict = try Verdict(decision, on: record, reading.inputRange, to: uniqueTopic)
            verdict = limits?.checked(verdict) ?? verdict
            verdict.bodyWrittenAt = reading.writtenAt
            // A dropped record adds nothing to the memory: a conflict invalidates all its parts.
            guard decision.goesOn, !verdict.isRefused else { return verdict }
            batch.addDecided(reading) { mark in
                let arrival = InFlight.Arrival(offset: record.offset, value: mark)
                inFlight.withLock { $0.append(arrival, from: record.topicPartition) }
            }
            return verdict
        } catch { return .unreadable(error) }
    }
}
