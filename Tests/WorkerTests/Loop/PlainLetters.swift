import AppStore
import Kafka
import Records

/// The least that a dead letter is: the record's bytes and why.
struct PlainLetters: DeadLetterWriting {
    let topic: String

    func letter(
        for record: ConsumerRecord,
        _ refusal: Refusal,
        value: DeadLetterValue
    ) -> ProducerRecord {
        ProducerRecord(
            topic: topic,
            key: record.key,
            value: value == .original ? record.value : nil,
            headers: [
                KafkaHeader(name: "dlq.reason", text: refusal.reason.rawValue),
                KafkaHeader(name: "dlq.value", text: value.rawValue),
                KafkaHeader(name: "dlq.source.offset", text: String(record.offset)),
            ]
        )
    }
}
