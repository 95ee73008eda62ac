import DeadLetters
import Kafka

/// A batch, what the stage decided, and what is to be written for it.
struct JudgedBatch: Sendable {
    /// One record to be written.
    struct Output: Sendable {
        var record: ProducerRecord
        /// Whose it is: an index into the batch's records.
        let owner: Int
        /// Nil for an ordinary output, else what the letter carries.
        var letter: DeadLetterValue?
    }

    let batch: Batch
    var verdicts: [Verdict]
    /// Partitions of which nothing from an offset on counts, because the breaker holds it.
    var pins: [TopicPartition: Int64] = [:]
    /// Of the settings by which the batch was judged.
    let deadLetters: any DeadLetterWriting

    func outputs() -> [Output] {
        var outputs: [Output] = []
        outputs.reserveCapacity(verdicts.count)
        for (owner, verdict) in verdicts.enumerated() {
            for record in verdict.outputs {
                outputs.append(Output(record: record, owner: owner, letter: nil))
            }
            if let facts = verdict.deadLetter {
                outputs.append(letter(facts, of: owner, .original))
            }
        }
        return outputs
    }

    func letter(
        _ facts: DeadLetterFacts,
        of owner: Int,
        _ value: DeadLetterValue
    ) -> Output {
        let record = deadLetters.letter(for: batch.records[owner], facts, value: value)
        return Output(record: record, owner: owner, letter: value)
    }

    /// Without the records of partitions that went elsewhere meanwhile.
    func filtered(_ isKept: (PartitionClaim) -> Bool) -> JudgedBatch {
        let keeps = batch.parts.map { isKept($0.claim) }
        guard keeps.contains(false) else { return self }
        let verdicts = zip(verdicts, batch.partOfRecord).filter { keeps[$0.1] }.map(\.0)
        return JudgedBatch(
            batch: batch.filtered { _, part in isKept(part.claim) },
            verdicts: verdicts,
            pins: pins,
            deadLetters: deadLetters
        )
    }
}
