import AppStore
import Kafka
import OpenSSL
import Records

/// The record that a replay sends for one dead letter: the body that it came from, as it came.
///
/// Only bodies are sent, as every stage but the first believes what it reads: for a letter of a
/// later stage the body goes the whole way again, and is verified again.
struct ReplayedOriginal: Sendable {
    let letter: DeadLetter
    /// The stage that refused the record.
    let stage: StageDescription
    /// The position of the body.
    let body: RecordPosition
    /// Whether the body still lies there.
    let isHeld: Bool
    let key: [UInt8]?
    let value: [UInt8]?
    let headers: [KafkaHeader]

    /// Takes a refused body from its dead letter, or from its source if the letter holds a part of
    /// it, and compares both; takes the body of a refused observation from its topic.
    ///
    /// - Parameters:
    ///   - letter: a letter that fits its own link.
    ///   - stage: the stage that reads the source topic.
    ///   - found: the record at the body's position; nil if the topic no longer holds it.
    /// - Throws: `Unsendable` for what must not be sent, in words for the operator.
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

    /// The source of a refused body, if it still exists and equals the letter's part of it.
    private static func checked(_ source: ConsumerRecord?, _ letter: DeadLetter, original: DeadLetterOriginal)
        throws(Unsendable) -> ConsumerRecord?
    {
        // Another time is another record: the topic was recreated and counts from its start again.
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
            throw Unsendable(.differs, "it differs from \(letter.source), which it was made of: altered")
        }
        return source
    }

    private static func isSameTime(_ record: ConsumerRecord, _ time: Timestamp?) -> Bool {
        guard let time else { return true }
        return record.timestampMilliseconds == time.milliseconds
    }

    /// The record to send: the body's headers, and the dead letter that it comes from.
    ///
    /// The two headers of a former replay are replaced. It goes to its former partition if the
    /// topic still has it, so that it keeps its order among the records of its key.
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

/// The reason for which a dead letter is not sent, in words for the operator.
package struct Unsendable: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Cause: Sendable {
        case onNoChain
        /// The letter differs from its source record, or from the digests of it.
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
