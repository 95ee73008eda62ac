import AppStore
import Kafka
import Records

extension Observation {
    /// As it lies in a topic.
    func record(at offset: Int64, headers: [KafkaHeader] = []) -> ConsumerRecord {
        ConsumerRecord(
            topicPartition: TopicPartition(topic: "storekit.linked", partition: 0),
            offset: offset,
            key: partitionKey,
            value: encode(),
            headers: headers
        )
    }
}
