import AppStore
import Kafka
import OpenSSL
import Records

/// The record that a replay sends for one dead letter: the body that the letter came from, unchanged.
///
/// Only bodies are sent, because only the first stage verifies what it reads. The body of a letter
/// of a later stage passes all stages again.
struct ReplayedOriginal: Sendable {
    let letter: DeadLetter
    /// The stage that refused the record.
    let stage: StageDescription
    /// The position of the body.
    let body: RecordPosition
    /// Whether the topic still holds the body at this position.
    let isHeld: Bool
    let key: [UInt8]?
    let value: [UInt8]?
    let headers: [KafkaHeader]

    /// Takes the body from its topic, or from its dead letter if the topic no longer holds it.
    ///
    /// A refused body has to match the digests in its letter, and the letter's copy of it.
    ///
    /// - Parameters:
    ///   - letter: a letter that fits its own link.
    ///   - stage: the stage that reads the source topic.
    ///   - found: the record at the body's position; `nil` if the topic no longer holds it.
    /// - Throws: `Unsendable`, in words for the operator, if the record must not be sent.
    init(_ letter: DeadLetter, _ record: ConsumerRecord, stage: StageDescription, found: ConsumerRecord?)
        throws(Unsendable)
    {
        self.letter = letter
        self.stage = stage
        let original = DeadLetterOriginal(record)
        guard !stage.readsObservations else {
            let found = try Self.body(of: letter, original, found)
            body = RecordPosition(found)
            isHeld = true
            key = found.key
            value = found.value
            headers = found.headers
            return
        }
        body = letter.source
        let source = try Self.checked(found, letter, original: original)
        isHeld = source != nil
        if let source {
            key = source.key
            value = source.value
            headers = source.headers
        } else {
            key = original.key
            value = original.value
            headers = original.headers
        }
        guard SHA256.digest(value ?? []).hex == letter.sourceSHA256 else {
            throw Unsendable(.differs, "its value is not the one that was refused (dlq.source.sha256): it was altered")
        }
        let head = DeadLetterLink.headDigest(key: key, headers: headers).hex
        guard letter.sourceHeadSHA256 == head else {
            throw Unsendable(
                .differs,
                "its key or headers are not those that were refused (dlq.source.head.sha256): they were altered")
        }
    }

    /// The body that a refused observation came from.
    private static func body(of letter: DeadLetter, _ original: DeadLetterOriginal, _ found: ConsumerRecord?)
        throws(Unsendable) -> ConsumerRecord
    {
        guard let raw = letter.raw else {
            throw Unsendable(.gone, "it names no body that could be sent: link-worker itself repeats an owner's change")
        }
        let source = try? Observation(value: original.value).source
        guard let found, isSameTime(found, source?.timestamp) else {
            throw Unsendable(
                .gone,
                "\(raw), the body that it came from, is no longer there: 'pipeline recover apple'"
                    + " fetches the purchase from Apple again")
        }
        return found
    }

    /// The source of a refused body; throws if it differs from the letter.
    ///
    /// `nil` if it is gone and the letter holds the whole body.
    private static func checked(_ source: ConsumerRecord?, _ letter: DeadLetter, original: DeadLetterOriginal)
        throws(Unsendable) -> ConsumerRecord?
    {
        // A record with another time is another one: the topic was recreated, and its offsets began again.
        guard let source, isSameTime(source, letter.sourceTimestamp) else {
            guard letter.value == .omitted || letter.omitted != nil else { return nil }
            throw Unsendable(.gone, "\(letter.source) is no longer there, and the dead letter holds only a part of it")
        }
        let omitted = Set(letter.omitted?.split(separator: ",").map(String.init) ?? [])
        let isSame =
            (letter.value == .omitted || original.value == source.value)
            && (omitted.contains("key") || original.key == source.key)
            && (omitted.contains("headers") || original.headers == source.headers)
        guard isSame else {
            throw Unsendable(.differs, "it differs from its source record, \(letter.source): it was altered")
        }
        return source
    }

    private static func isSameTime(_ record: ConsumerRecord, _ time: Timestamp?) -> Bool {
        guard let time else { return true }
        return record.timestampMilliseconds == time.milliseconds
    }

    /// The record to send: the body, with headers that name its dead letter.
    ///
    /// The two headers replace those of an earlier replay. The record goes to the body's partition
    /// if the topic still has it, and so keeps its order among the records of its key.
    func record(partitionCount: Int) -> ProducerRecord {
        let own = [DeadLetterHeader.replayOf, DeadLetterHeader.attempt].map { Array($0.utf8) }
        let kept = headers.filter { !own.contains($0.nameBytes) }
        let added = [
            KafkaHeader(name: DeadLetterHeader.replayOf, text: letter.id),
            KafkaHeader(name: DeadLetterHeader.attempt, text: String(letter.attempt)),
        ]
        return ProducerRecord(
            topic: body.topic, partition: body.partition % Int32(max(1, partitionCount)), key: key, value: value,
            headers: kept + added)
    }
}

/// The reason why a dead letter is not sent, in words for the operator.
package struct Unsendable: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Cause: Sendable {
        case onNoChain
        /// The letter differs from its source record, or from that record's digests.
        case differs
        /// The letter, or the body that it needs, is gone.
        case gone
        case redacted
        /// No stage reads the letter's source topic.
        case noStage
    }

    package let cause: Cause
    package let description: String

    init(_ cause: Cause, _ description: String) {
        self.cause = cause
        self.description = description
    }
}
