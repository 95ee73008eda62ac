import AppStore
package import Kafka
import Records

/// A record and the stage's decision about it.
package struct ProcessedRecord: Sendable {
    package let record: ConsumerRecord
    package internal(set) var verdict: Verdict
    /// The index of the record's part in the batch.
    let part: Int
    /// The index of an output that must be acknowledged before the others are sent.
    var tried: Int?

    package init(_ record: ConsumerRecord, _ verdict: Verdict, part: Int = 0) {
        self.record = record
        self.verdict = verdict
        self.part = part
    }
}

/// A batch with the stage's decisions and the records to write.
struct ProcessedBatch: Sendable {
    /// A record to be written.
    struct Output: Sendable {
        var record: ProducerRecord
        /// The index of the output's input record in the batch.
        let owner: Int
        /// Whether the output answers a waiting request, instead of going to the next stage.
        let isOutcome: Bool
    }

    let id: Int
    var parts: [Batch.Part]
    var records: [ProcessedRecord] = []
    /// The writer with the settings with which the batch was processed.
    let deadLetters: any DeadLetterWriting

    init(_ batch: Batch, _ verdicts: [Verdict], deadLetters: any DeadLetterWriting) {
        precondition(verdicts.count == batch.records.count, "one verdict for each record")
        id = batch.id
        parts = batch.parts
        self.deadLetters = deadLetters
        records.reserveCapacity(verdicts.count)
        var part = 0
        for index in verdicts.indices {
            let record = batch.records[index]
            if parts[part].claim.partition != record.topicPartition {
                let found = parts.firstIndex { $0.claim.partition == record.topicPartition }
                part = found ?? part
            }
            records.append(ProcessedRecord(record, verdicts[index], part: part))
        }
    }

    func claim(ofRecordAt index: Int) -> PartitionClaim { parts[records[index].part].claim }

    /// The record's offset, or the start of the gap directly before the record.
    func start(ofRecordAt index: Int) -> Int64 {
        let offset = records[index].record.offset
        return parts[records[index].part].gaps.first { $0.before == offset }?.first ?? offset
    }

    /// Keeps the records whose claims are still valid.
    mutating func keep(where isKept: (PartitionClaim) -> Bool) {
        let keeps = parts.map { isKept($0.claim) }
        guard keeps.contains(false) else { return }
        records.removeAll { !keeps[$0.part] }
    }

    /// Keeps the records before each partition's pin, and removes those that are only inspected.
    mutating func keepUnpinned(_ pinnedAt: (PartitionClaim) -> Int64?) {
        for index in parts.indices {
            let part = parts[index]
            parts[index].pinnedAt = part.isWatched ? .min : pinnedAt(part.claim)
        }
        guard parts.contains(where: { $0.pinnedAt != nil }) else { return }
        records.removeAll { $0.record.offset >= parts[$0.part].pinnedAt ?? .max }
    }

    /// The batch's increment of each part's tally.
    ///
    /// - Parameter nextTopic: the topic whose outputs count as forwarded; `nil` after the last stage.
    func increments(nextTopic: String? = nil) -> [TallyIncrement] {
        var increments = parts.map { part in
            var increment = TallyIncrement()
            increment.chainHead = part.chainHead
            for gap in part.gaps where gap.before <= part.pinnedAt ?? .max { increment.add(gap) }
            return increment
        }
        for index in records.indices {
            increments[records[index].part].add(
                records[index].verdict.disposition, forwarded: records[index].verdict.outputCount(to: nextTopic))
        }
        return increments
    }

    /// Returns all outputs except the dead letters, which are written after them.
    ///
    /// - Parameter outcomes: the writer of answers; `nil` if no record is answered.
    func outputs(_ outcomes: OutcomeWriter?) -> [Output] {
        var outputs: [Output] = []
        outputs.reserveCapacity(records.count)
        for owner in records.indices {
            let tried = records[owner].tried
            for index in records[owner].verdict.outputs.indices where tried != index {
                let record = records[owner].verdict.outputs[index]
                outputs.append(Output(record: record, owner: owner, isOutcome: false))
            }
            if let answer = outcome(of: owner, outcomes) { outputs.append(answer) }
        }
        return outputs
    }

    /// Returns the answer about a record.
    ///
    /// `nil` if no request waits for the record, or if the record is forwarded.
    func outcome(of owner: Int, _ outcomes: OutcomeWriter?) -> Output? {
        guard let outcomes, let outcome = records[owner].verdict.outcome ?? Outcome(endOf: records[owner].verdict),
            let record = outcomes.record(for: records[owner].record, outcome)
        else { return nil }
        return Output(record: record, owner: owner, isOutcome: true)
    }
}

extension ProcessedBatch {
    /// Refuses each record with an output that is larger than its topic accepts, before any output is sent.
    ///
    /// - Returns: the oversized outputs, one for each refused record.
    mutating func refuseOversized(_ limits: OutputLimits) -> [ProducerRecord] {
        var oversized: [ProducerRecord] = []
        var limits = limits.reader()
        for owner in records.indices {
            guard let index = limits.firstForbidden(among: records[owner].verdict.outputs) else { continue }
            let output = records[owner].verdict.outputs[index]
            oversized.append(output)
            records[owner].verdict = .tooLarge(for: output.topic)
        }
        return oversized
    }

    /// The largest output of each record with several outputs, if only the broker knows whether it accepts that
    /// output.
    func untried(_ limits: OutputLimits) -> [(owner: Int, output: Int)] {
        records.indices.compactMap { owner in
            guard records[owner].verdict.outputs.count > 1 else { return nil }
            let outputs = records[owner].verdict.outputs
            guard
                let largest = outputs.indices.max(by: { left, right in
                    outputs[left].batchBytesMax < outputs[right].batchBytesMax
                }), limits.isUntried(outputs[largest])
            else { return nil }
            return (owner, largest)
        }
    }
}
