import Kafka
import Synchronization

/// Records that have to wait although the infrastructure answers: each stops its own partition and
/// no other.
extension ConsumerSession {
    /// Holds each partition at its first record that has to wait, and forgets holds that are over.
    func hold(_ processed: ProcessedBatch) {
        endHolds(by: processed)
        for index in processed.records.indices {
            guard let error = processed.records[index].verdict.heldBy else { continue }
            let record = processed.records[index].record
            let claim = processed.claim(ofRecordAt: index)
            let start = processed.start(ofRecordAt: index)
            guard assignment.withLock({ $0.hold(claim, at: start) }) else { continue }
            hold(record, HeldRecord(record, error))
        }
    }

    private func hold(_ record: ConsumerRecord, _ error: HeldRecord) {
        let isNew = polling.withLock { polling in
            let former = polling.holds[record.topicPartition]
            let isNew = former?.offset != record.offset
            var backoff = (isNew ? nil : former?.backoff) ?? configuration.holdBackoff
            polling.holds[record.topicPartition] = PollingState.Hold(
                offset: record.offset,
                due: .now + backoff.nextDelay(),
                backoff: backoff
            )
            return isNew
        }
        loop.faults.failed(.held, error)
        wakePolling()
        guard isNew else { return }
        log.error(
            "record held, its partition waits",
            [
                "kafka.topic": .string(record.topicPartition.topic),
                "kafka.partition": .int(record.topicPartition.partition),
                "kafka.offset": .int(record.offset),
                "error": .string(String(describing: error.error)),
            ]
        )
    }

    /// A held record has got a verdict: its partition continues.
    private func endHolds(by processed: ProcessedBatch) {
        let held = polling.withLock { $0.holds }
        guard !held.isEmpty else { return }
        for index in processed.records.indices {
            let record = processed.records[index].record
            guard held[record.topicPartition]?.offset == record.offset,
                processed.records[index].verdict.heldBy == nil
            else { continue }
            polling.withLock { $0.holds[record.topicPartition] = nil }
            report("held record processed, its partition goes on", [record.topicPartition])
        }
        showHolds()
    }

    private func showHolds() {
        if loop.faults.isFailing(.held), polling.withLock({ $0.holds.isEmpty }) {
            loop.faults.succeeded(.held)
        }
    }

    /// Forgets the held records of partitions that are given up: their next owner finds them again.
    func forgetHolds() {
        polling.withLock { $0.holds = [:] }
        showHolds()
    }

    /// How many of a batch's records go through the stage together: none with one that was held,
    /// so that its repetition costs no other record anything.
    func countTogether(_ records: [ConsumerRecord]) -> Int {
        let held = polling.withLock { $0.holds }
        guard !held.isEmpty else { return records.count }
        let first = records.firstIndex { held[$0.topicPartition]?.offset == $0.offset }
        return first.map { max($0, 1) } ?? records.count
    }

    /// Stops fetching what is held, and reads it again when it is due; in the polling task.
    func keepHolds() async throws(KafkaError) {
        guard !polling.withLock({ $0.holds.isEmpty }) else { return }
        let assigned = assignment.withLock { $0.partitions.mapValues(\.phase) }
        let now = ContinuousClock.now
        let (paused, due) = polling.withLock { polling in
            // If the group has revoked a partition, only its next worker may hold it.
            polling.holds = polling.holds.filter { assigned[$0.key] != nil }
            let held = polling.holds.filter { assigned[$0.key] == .held }
            let paused = held.filter { !$0.value.isPaused }.map(\.key)
            paused.forEach { polling.holds[$0]?.isPaused = true }
            let due = held.filter { $0.value.due <= now }.map(\.key)
            due.forEach { polling.holds[$0]?.isPaused = false }
            return (paused, Set(due))
        }
        showHolds()
        if !paused.isEmpty {
            try await consumer.pause(paused)
        }
        guard !due.isEmpty else { return }
        let positions = assignment.withLock {
            $0.rewind { partition, _ in due.contains(partition) }
        }
        polling.withLock { $0.rewinds.merge(positions) { $1 } }
    }
}

/// A record that waits, and its partition with it.
struct HeldRecord: CausedFault, CustomStringConvertible {
    let position: String
    let error: any Error

    init(_ record: ConsumerRecord, _ error: any Error) {
        position = "\(record.topicPartition) offset \(record.offset)"
        self.error = error
    }

    var cause: FaultCause { FaultCause(of: error) }
    var description: String { "\(position): \(error)" }
}
