import AppStore
import DeadLetters
import Kafka

/// The least that a dead letter is: the record's bytes and why.
struct PlainLetters: DeadLetterWriting {
    let topic: String

    func letter(
        for record: ConsumerRecord,
        _ facts: DeadLetterFacts,
        value: DeadLetterValue
    ) -> ProducerRecord {
        ProducerRecord(
            topic: topic,
            key: record.key,
            value: value == .original ? record.value : nil,
            headers: [
                KafkaHeader(name: "dlq.reason", text: facts.reason.rawValue),
                KafkaHeader(name: "dlq.value", text: value.rawValue),
                KafkaHeader(name: "dlq.source.offset", text: String(record.offset)),
            ]
        )
    }
}
