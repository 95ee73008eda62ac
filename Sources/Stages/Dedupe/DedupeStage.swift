import AppStore
import Store
import Entitlements
import Holdings
package import Kafka
package import Postgres
import Records
import Synchronization
import Topology
package import Worker

/// Drops what says nothing new about a transaction, a subscription's renewal or an app transaction.
///
/// What goes on goes on as it came, byte for byte. An ID is remembered only after the forward was
/// acknowledged, so a crash between the two forwards twice and loses nothing. Of what ends as a
/// dead letter nothing is remembered, so that it goes on when it is published again.
package final class DedupeStage: Stage {
    private let memory: DedupeMemory
    private let pruning: RevisionPruning
    private let answers: RefusalAnswers
    private let uniqueTopic: String
    private let limits: OutputLimits?
    private let size: TransactionSize
    private let marksSize: TransactionSize
    private let inFlight = Mutex(InFlight<PartKey, PartRevision?>())

    /// - Parameters:
    ///   - uniqueTopic: the topic of the observations that go on.
    ///   - retention: how long an ID is remembered.
    ///   - pruneInterval: how often what is older is deleted.
    ///   - limits: a record that is too large to go on does not count as forwarded for those after
    ///     it; nil leaves that to the loop.
    package init(
        client: PostgresClient,
        uniqueTopic: String,
        retention: Duration,
        pruneInterval: Duration,
        limits: OutputLimits? = nil
    ) {
        memory = DedupeMemory(client: client)
        pruning = RevisionPruning(client: client, retention: retention, interval: pruneInterval)
        answers = RefusalAnswers(client: client)
        self.uniqueTopic = uniqueTopic
        self.limits = limits
        size = TransactionSize(statementDeadline: client.statementDeadline)
        marksSize = TransactionSize(statementDeadline: client.statementDeadline)
    }

    package var recordsMax: Int { min(size.recordsMax, marksSize.recordsMax) }

    package func probe() async throws {
        try await SchemaVersion.require(memory.client)
    }

    package func isOutdated(by error: any Error) async -> Bool {
        await SchemaVersion.isOutgrown(memory.client, after: error)
    }

    package func process(_ records: [ConsumerRecord]) async throws -> [Verdict] {
        forgetReadAgain(records)
        let verdicts = try await RecordFaults.isolating(records[...], size: size) { records in
            try await decide(records)
        } refused: { record, error in
            .deadLettered(record, .notStorable, error.recordFaultDetail)
        }
        if verdicts.contains(where: \.isNotStorable) {
            try await SchemaVersion.requireKnown(memory.client)
        }
        return try await answers.complete(verdicts, of: records)
    }

    /// Remembers what the records brought that went on, now that it is acknowledged.
    package func acknowledged(
        _ records: [ConsumerRecord],
        _ verdicts: [Verdict]
    ) async throws {
        let settled = Self.offsets(of: records)
        let refused = Self.refused(records, verdicts)
        let marks = inFlight.withLock { inFlight in
            settled.flatMap { partition, offsets in
                inFlight.brought(by: partition, offsets: offsets)
                    .filter { refused[partition]?.contains($0.offset) != true }
                    .map { DedupeMemory.Mark(key: $0.key, revision: $0.value) }
            }
        }
        // What PostgreSQL cannot remember goes on whenever it comes; the sink decides about it.
        _ = try await RecordFaults.isolating(marks[...], size: marksSize) { marks in
            try await memory.raise(to: Array(marks))
            return marks.map { _ in }
        } refused: { _, _ in
        }
        inFlight.withLock { inFlight in
            for (partition, offsets) in settled {
                inFlight.forget(partition, offsets: offsets)
            }
        }
        pruning.beginIfDue()
    }

    /// From the first to the last record of each partition: what lies between them was in the same
    /// batch, or brought nothing.
    private static func offsets(
        of records: [ConsumerRecord]
    ) -> [TopicPartition: ClosedRange<Int64>] {
        var offsets: [TopicPartition: ClosedRange<Int64>] = [:]
        for (index, record) in records.enumerated() {
            // They come in runs of one partition; only the last of a run says more than the first.
            let isLast =
                index + 1 == records.count
                || records[index + 1].topicPartition != record.topicPartition
            guard isLast || offsets[record.topicPartition] == nil else { continue }
            let first = offsets[record.topicPartition]?.lowerBound ?? record.offset
            offsets[record.topicPartition] = first...record.offset
        }
        return offsets
    }

    /// Records that did not go on, though they were believed to when they were processed.
    private static func refused(
        _ records: [ConsumerRecord],
        _ verdicts: [Verdict]
    ) -> [TopicPartition: Set<Int64>] {
        var refused: [TopicPartition: Set<Int64>] = [:]
        for (record, verdict) in zip(records, verdicts) where verdict.refusal != nil {
            refused[record.topicPartition, default: []].insert(record.offset)
        }
        return refused
    }

    package func abandoned(_ partitions: [TopicPartition]) async {
        inFlight.withLock { inFlight in
            for partition in partitions {
                inFlight.forget(partition, offsets: .min ... .max)
            }
        }
    }

    /// A record that is read again was not forwarded, whatever this worker believed of it.
    private func forgetReadAgain(_ records: [ConsumerRecord]) {
        var first: [TopicPartition: Int64] = [:]
        for record in records where first[record.topicPartition] == nil {
            first[record.topicPartition] = record.offset
        }
        inFlight.withLock { inFlight in
            for (partition, offset) in first {
                inFlight.forget(partition, offsets: offset ... .max)
            }
        }
    }
}

extension DedupeStage {
    private func decide(_ records: ArraySlice<ConsumerRecord>) async throws -> [Verdict] {
        var batch = DedupeBatch(recordsExpected: records.count)
        let readings = try records.map { record in
            try record.observation { observation in
                batch.add(observation.parts, writtenAt: observation.bodyWrittenAt)
            }
        }
        // What is in flight is read before PostgreSQL is asked: what is marked in between is no
        // longer in flight and is found there.
        addInFlight(&batch)
        for remembered in try await memory.recall(batch.keys) {
            batch.add(remembered.revision, at: remembered.index)
        }
        return inFlight.withLock { inFlight in
            zip(records, readings).map { record, reading in
                verdict(on: record, reading, in: &batch, &inFlight)
            }
        }
    }

    private func addInFlight(_ batch: inout DedupeBatch) {
        inFlight.withLock { inFlight in
            guard !inFlight.isEmpty else { return }
            for (index, key) in batch.keys.enumerated() {
                for revision in inFlight.values(of: key) {
                    batch.add(revision, at: index)
                }
            }
        }
    }

    private func verdict(
        on record: ConsumerRecord,
        _ reading: Result<DedupeBatch.Record, ObservationError>,
        in batch: inout DedupeBatch,
        _ inFlight: inout InFlight<PartKey, PartRevision?>
    ) -> Verdict {
        switch reading {
        case .failure(let error):
            return Verdict.observationMalformed(error)
        case .success(let reading):
            let decision = batch.decide(reading)
            var verdict = Verdict(decision, on: record, uniqueTopic: uniqueTopic)
            if let limits { verdict = verdict.within(limits) }
            verdict.bodyWrittenAt = reading.writtenAt
            // What does not go on leaves no trace: of a conflict none of the parts is believed.
            guard decision.goesOn, verdict.refusal == nil else { return verdict }
            batch.addDecided(reading) { key, revision in
                inFlight.append(
                    revision,
                    of: key,
                    from: record.topicPartition,
                    at: record.offset
                )
            }
            return verdict
        }
    }
}
