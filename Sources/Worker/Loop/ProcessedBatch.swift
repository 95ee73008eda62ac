import AppStore
import Kafka
import OpenSSL
package import Records

/// The stage in use with its dead letters and breaker: all that a reload of the settings replaces.
package struct ActiveStage: Sendable {
    let stage: any Stage
    /// Makes the letters of a cluster, by the ID that its brokers give.
    let deadLetters: @Sendable (_ cluster: String) -> any DeadLetterWriting
    /// As it begins; nil for stages that need none.
    let breaker: Breaker?

    package init(
        stage: any Stage,
        deadLetters: @escaping @Sendable (_ cluster: String) -> any DeadLetterWriting,
        breaker: Breaker? = nil
    ) {
        self.stage = stage
        self.deadLetters = deadLetters
        self.breaker = breaker
    }
}

/// A batch, what the stage decided, and what is to be written for it.
struct ProcessedBatch: Sendable {
    /// One record to be written.
    struct Output: Sendable {
        var record: ProducerRecord
        /// Index of the output's input in the batch's records.
        let owner: Int
        let kind: Kind
    }

    enum Kind: Sendable {
        /// A record for the next stage.
        case forward
        /// An answer to those who wait for the record.
        case outcome
    }

    var batch: Batch
    var verdicts: [Verdict]
    /// Partitions of which nothing from an offset on counts, because the breaker holds it.
    var pins: [TopicPartition: Int64] = [:]
    /// The writer by the settings that the batch was processed with.
    let deadLetters: any DeadLetterWriting
    /// Which output of a record, by the record's index, is acknowledged before the others are sent.
    var tried: [Int: Int] = [:]
    /// The head of each part's chain of dead letters, once these are written.
    var chainHeads: [SHA256Digest?] = []

    /// All but the dead letters, which are written after them.
    ///
    /// - Parameter outcomes: nil if no record is answered.
    func outputs(_ outcomes: OutcomeWriter?) -> [Output] {
        var outputs: [Output] = []
        outputs.reserveCapacity(verdicts.count)
        for owner in verdicts.indices {
            for index in verdicts[owner].outputs.indices where tried[owner] != index {
                let record = verdicts[owner].outputs[index]
                outputs.append(Output(record: record, owner: owner, kind: .forward))
            }
            if let answer = outcome(of: owner, outcomes) {
                outputs.append(answer)
            }
        }
        return outputs
    }

    /// Nil if no request waits for the record, or if it is forwarded.
    func outcome(of owner: Int, _ outcomes: OutcomeWriter?) -> Output? {
        guard let outcomes,
            let outcome = verdicts[owner].outcome ?? Outcome(endOf: verdicts[owner]),
            let record = outcomes.record(for: batch.records[owner], outcome)
        else { return nil }
        return Output(record: record, owner: owner, kind: .outcome)
    }

    /// The batch without the records of partitions that were revoked.
    func filtered(_ isKept: (PartitionClaim) -> Bool) -> ProcessedBatch {
        let keeps = batch.parts.map { isKept($0.claim) }
        guard keeps.contains(false) else { return self }
        var kept = self
        kept.verdicts = zip(verdicts, batch.partOfRecord).filter { keeps[$0.1] }.map(\.0)
        kept.batch = batch.filtered { _, part in isKept(part.claim) }
        return kept
    }
}

extension ProcessedBatch {
    /// Refuses each record of which an output is larger than its topic accepts, before any is sent.
    ///
    /// - Returns: the outputs that are too large, one of each such record.
    mutating func refuseOversized(_ limits: OutputLimits) -> [ProducerRecord] {
        var oversized: [ProducerRecord] = []
        var limits = limits.reader()
        for owner in verdicts.indices {
            guard let index = limits.firstForbidden(among: verdicts[owner].outputs) else {
                continue
            }
            let output = verdicts[owner].outputs[index]
            oversized.append(output)
            verdicts[owner] = .tooLarge(for: output.topic)
        }
        return oversized
    }

    /// The largest output of each record with several, where only the broker knows whether it
    /// accepts it.
    func untried(_ limits: OutputLimits) -> [(owner: Int, output: Int)] {
        verdicts.indices.compactMap { owner in
            guard verdicts[owner].outputs.count > 1 else { return nil }
            let outputs = verdicts[owner].outputs
            guard
                let largest = outputs.indices.max(by: { left, right in
                    outputs[left].batchBytesMax < outputs[right].batchBytesMax
                }),
                limits.isUntried(outputs[largest])
            else { return nil }
            return (owner, largest)
        }
    }
}
