import Kafka
import Settings
import Telemetry

/// Records that must wait although the infrastructure answers: each blocks only its own partition.
struct Holds: Sendable {
    private struct Hold: Sendable {
        /// The offset of the held record.
        let offset: Int64
        /// Instant at which the record is read again.
        let due: ContinuousClock.Instant
        let backoff: Backoff
        var isPaused = false
    }

    private var holds: [TopicPartition: Hold] = [:]

    var isEmpty: Bool { holds.isEmpty }

    func contains(_ record: ConsumerRecord) -> Bool { holds[record.topicPartition]?.offset == record.offset }

    /// Holds a record until its backoff has passed; true if the record was not held before.
    mutating func add(_ record: ConsumerRecord, at now: ContinuousClock.Instant, fresh: Backoff, jitter: Double) -> Bool
    {
        let former = holds[record.topicPartition]
        let isNew = former?.offset != record.offset
        var backoff = (isNew ? nil : former?.backoff) ?? fresh
        holds[record.topicPartition] = Hold(
            offset: record.offset, due: now + backoff.nextDelay(jitter: jitter), backoff: backoff)
        return isNew
    }

    mutating func end(_ partition: TopicPartition) { holds[partition] = nil }

    /// Removes the holds of released partitions; returns the partitions to pause, and those to read again.
    mutating func due(_ now: ContinuousClock.Instant, _ assigned: [TopicPartition: PartitionState]) -> (
        paused: [TopicPartition], due: Set<TopicPartition>
    ) {
        // After a revocation, only the partition's next worker may hold its records.
        holds = holds.filter { assigned[$0.key] != nil }
        let held = holds.filter { assigned[$0.key]?.phase == .held }
        let paused = held.filter { !$0.value.isPaused }.map(\.key)
        paused.forEach { holds[$0]?.isPaused = true }
        let due = held.filter { $0.value.due <= now }.map(\.key)
        due.forEach { holds[$0]?.isPaused = false }
        return (paused, Set(due))
    }

    /// Returns the number of the batch's first records that one call of the stage processes.
    ///
    /// A record that was held is processed alone, so that its repetition affects no other record.
    func countTogether(_ records: [ConsumerRecord]) -> Int {
        guard !holds.isEmpty else { return records.count }
        let first = records.firstIndex(where: contains)
        return first.map { max($0, 1) } ?? records.count
    }
}

extension SessionCore {
    /// Holds each partition at its first record that must wait, and removes ended holds.
    mutating func hold(_ processed: ProcessedBatch, _ now: Instant, jitter: Double) {
        endHolds(by: processed)
        for index in processed.records.indices {
            guard let error = processed.records[index].verdict.heldBy else { continue }
            let record = processed.records[index].record
            let claim = processed.claim(ofRecordAt: index)
            guard assignment.hold(claim, at: processed.start(ofRecordAt: index)) else { continue }
            let isNew = holds.add(record, at: now, fresh: configuration.holdBackoff, jitter: jitter)
            let position = "\(record.topicPartition) offset \(record.offset)"
            perform(.failed(.held, HeldRecord(position: position, error: error)))
            perform(.turn)
            guard isNew else { continue }
            var metadata = LogMetadata(record.topicPartition)
            metadata.append("kafka.offset", .int(record.offset))
            metadata.append("error", .string(String(describing: error)))
            log(.error, "record held, its partition waits", metadata)
        }
    }

    /// Ends the holds of records that now have a verdict: their partitions continue.
    private mutating func endHolds(by processed: ProcessedBatch) {
        let last = processed.records.last { holds.contains($0.record) }?.verdict
        changeHolds(by: last) { core in
            for index in processed.records.indices {
                let record = processed.records[index].record
                guard core.holds.contains(record), processed.records[index].verdict.heldBy == nil else { continue }
                core.holds.end(record.topicPartition)
                core.report("held record processed, its partition goes on", [record.topicPartition])
            }
        }
    }

    /// Removes all holds of released partitions; the partitions' next owner meets these records again.
    mutating func forgetHolds() { changeHolds { $0.holds = Holds() } }

    /// Pauses held partitions, and reads them again when their delay has passed.
    mutating func keepHolds(_ now: Instant) {
        changeHolds { core in
            let (paused, due) = core.holds.due(now, core.assignment.partitions)
            if !paused.isEmpty { core.perform(.pause(paused)) }
            guard !due.isEmpty else { return }
            let positions = core.assignment.rewind { partition, _ in due.contains(partition) }
            core.rewinds.merge(positions) { $1 }
        }
    }

    /// Applies a change of the holds; ends the fault with the last hold.
    ///
    /// - Parameter verdict: the verdict that ends the hold; `nil` if the partition is released.
    private mutating func changeHolds(by verdict: Verdict? = nil, _ change: (inout SessionCore) -> Void) {
        guard !holds.isEmpty else { return }
        change(&self)
        if holds.isEmpty { perform(.holdsEnded(by: verdict)) }
    }
}

/// A record that must wait and blocks its partition.
struct HeldRecord: CausedFault, CustomStringConvertible {
    let position: String
    let error: any Error

    var cause: FaultCause { FaultCause(of: error) }
    var description: String { "\(position): \(error)" }
}
