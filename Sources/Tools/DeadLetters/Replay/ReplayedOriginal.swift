import AppStore
import Kafka
import OpenSSL
import Records

/// The record that a replay sends for one dead letter: the original as it came, to its topic.
struct ReplayedOriginal: Sendable {
    let letter: DeadLetter
    let stage: StageDescription
    let key: [UInt8]?
    let value: [UInt8]?
    let headers: [KafkaHeader]

    /// Takes the original from its dead letter, or from its source if the letter holds a part of
    /// it, and compares both.
    ///
    /// - Parameters:
    ///   - letter: a letter that a verified chain holds.
    ///   - stage: the stage that reads the source topic.
    ///   - source: the record at the source position; nil if the topic no longer holds it.
    /// - Throws: `Unsendable` for what must not be sent, in words for the operator.
    init(
        _ letter: DeadLetter,
        _ record: ConsumerRecord,
        stage: StageDescription,
        source: ConsumerRecord?
    ) throws(Unsendable) {
        self.letter = letter
        self.stage = stage
        let original = DeadLetterOriginal(record)
        if let source = try Self.checked(source, letter, original: original, stage: stage) {
            key = source.key
            value = source.value
            headers = source.headers
        } else {
            key = original.key
            value = original.value
            headers = original.headers
        }
        guard SHA256.digest(value ?? []).hex == letter.sourceSHA256 else {
            throw Unsendable(
                .differs,
                "its value is not the one that was refused (dlq.source.sha256): it was altered"
            )
        }
        let head = DeadLetterLink.headDigest(key: key, headers: headers).hex
        guard letter.sourceHeadSHA256 == head else {
            throw Unsendable(
                .differs,
                "its key or headers are not those that were refused (dlq.source.head.sha256): they"
                    + " were altered"
            )
        }
    }

    /// The source, if it still exists and equals the letter's part of it.
    ///
    /// An observation carries no signature that could be verified again. Only records written by
    /// verify-worker may be on these topics, so the source must still be there.
    private static func checked(
        _ source: ConsumerRecord?,
        _ letter: DeadLetter,
        original: DeadLetterOriginal,
        stage: StageDescription
    ) throws(Unsendable) -> ConsumerRecord? {
        let isPart = letter.value == .omitted || letter.omitted != nil
        // Another time is another record: the topic was recreated and counts from its start again.
        guard let source, isSameTime(source, letter) else {
            guard isPart || stage.readsObservations else { return nil }
            let why =
                isPart
                ? "the dead letter holds only a part of it"
                : "an observation is sent only while the record of \(stage.inputTopic) is there to"
                    + " compare it with"
            throw Unsendable(.gone, "\(letter.source) is no longer there, and \(why)")
        }
        let omitted = Set(letter.omitted?.split(separator: ",").map(String.init) ?? [])
        let isSame =
            (letter.value == .omitted || original.value == source.value)
            && (omitted.contains("key") || original.key == source.key)
            && (omitted.contains("headers") || original.headers == source.headers)
        guard isSame else {
            throw Unsendable(
                .differs,
                "it differs from \(letter.source), which it was made of: altered"
            )
        }
        return source
    }

    private static func isSameTime(_ source: ConsumerRecord, _ letter: DeadLetter) -> Bool {
        guard let time = letter.sourceTimestamp else { return true }
        return source.timestampMilliseconds == time.milliseconds
    }

    /// The record to send: the original's headers, and the dead letter that it comes from.
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
            topic: letter.source.topic,
            partition: letter.source.partition % Int32(max(1, partitionCount)),
            key: key,
            value: value,
            headers: kept + added
        )
    }
}

/// Why a dead letter is not sent, in words for the operator.
package struct Unsendable: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Cause: Sendable {
        case onNoChain
        /// It differs from its source record, or from the digests of it.
        case differs
        /// The letter, or the source that it needs, is gone.
        case gone
        case redacted
        /// No stage reads its source topic.
        case noStage
    }

    package let cause: Cause
    package let description: String

    init(_ cause: Cause, _ description: String) {
        self.cause = cause
        self.description = description
    }
}
