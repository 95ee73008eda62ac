import AppStore
import Kafka
import OpenSSL
import Records

/// A dead letter of a batch, with the previous head of its chain.
struct Letter: Sendable {
    var record: ProducerRecord
    /// The record's index in the batch.
    let owner: Int
    let refusal: Refusal
    var previous: SHA256Digest?
    var value = DeadLetterValue.original
}

extension ProcessedBatch {
    /// The partition of the dead-letter topic for the letters of a source partition; `nil` lets the partitioner
    /// choose.
    typealias LetterPartition = (_ source: Int32) -> Int32?

    /// Makes the letters of the valid parts, each linked to the previous letter; sets the new head of each part's
    /// chain.
    mutating func letters(of isValid: [Bool], _ partition: LetterPartition) -> [Letter] {
        var letters: [Letter] = []
        for owner in records.indices where isValid[records[owner].part] {
            guard let refusal = records[owner].verdict.refusal else { continue }
            let previous = parts[records[owner].part].chainHead
            let record = chain(refusal, of: owner, .original, to: partition)
            letters.append(Letter(record: record, owner: owner, refusal: refusal, previous: previous))
        }
        return letters
    }

    /// Makes the first letter again without its value, and the later letters of its chain: its digest covers the
    /// omission, and each letter contains the previous digest.
    mutating func omitValue(_ letters: inout ArraySlice<Letter>, _ partition: LetterPartition) {
        guard let first = letters.first else { return }
        letters[letters.startIndex].value = .omitted
        let part = records[first.owner].part
        parts[part].chainHead = first.previous
        for index in letters.indices where records[letters[index].owner].part == part {
            let letter = letters[index]
            letters[index].previous = parts[part].chainHead
            letters[index].record = chain(letter.refusal, of: letter.owner, letter.value, to: partition)
        }
    }

    /// Makes the letter of a record, linked to the head of its chain; the letter becomes the new head.
    private mutating func chain(
        _ refusal: Refusal, of owner: Int, _ value: DeadLetterValue, to partition: LetterPartition
    ) -> ProducerRecord {
        let (source, part) = (records[owner].record, records[owner].part)
        let head = parts[part].chainHead
        var letter = deadLetters.letter(for: source, refusal, value: value, after: head)
        letter.record.partition = partition(source.topicPartition.partition)
        parts[part].chainHead = letter.digest
        return letter.record
    }
}
