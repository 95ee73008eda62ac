import AppStore
import Kafka
import Records

extension Observation {
    /// As a record of a topic.
    func record(at offset: Int64, headers: [KafkaHeader] = []) -> ConsumerRecord {
        let written = record(for: "storekit.linked", headers: headers)
        return ConsumerRecord(
            topicPartition: TopicPartition(topic: written.topic, partition: 0),
            offset: offset,
            key: written.key,
            value: written.value,
            headers: written.headers
        )
    }
}
