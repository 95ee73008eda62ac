import AppStore
import Kafka
import OpenSSL

@testable import Records

/// The least that a dead letter is: the record's bytes and why.
struct PlainLetters: DeadLetterWriting {
    let topic: String

    func letter(for record: ConsumerRecord, _ refusal: Refusal, value: DeadLetterValue, after previous: SHA256Digest?)
        -> ChainedLetter
    {
        let headers = [
            KafkaHeader(name: "dlq.reason", text: refusal.reason.rawValue),
            KafkaHeader(name: "dlq.value", text: value.rawValue),
            KafkaHeader(name: "dlq.source.offset", text: String(record.offset)),
            KafkaHeader(name: "dlq.prev", text: DeadLetterLink.text(of: previous)),
        ]
        let letter = ProducerRecord(
            topic: topic, key: record.key, value: value == .original ? record.value : nil, headers: headers)
        return ChainedLetter(record: letter, digest: Self.link(record.offset, after: previous))
    }

    /// The link of a letter, by its source's offset.
    static func link(_ offset: Int64, after previous: SHA256Digest?) -> SHA256Digest {
        SHA256.digest(Array("\(offset) \(DeadLetterLink.text(of: previous))".utf8))
    }
}
