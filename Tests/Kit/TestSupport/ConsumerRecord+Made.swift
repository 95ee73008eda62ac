package import Kafka

extension ConsumerRecord {
    /// A record of a topic's first partition.
    package convenience init(
        _ topic: String, at offset: Int64, timestampMilliseconds: Int64? = nil, key: [UInt8]? = nil,
        value: [UInt8]? = nil, headers: [KafkaHeader] = []
    ) {
        self.init(
            topicPartition: TopicPartition(topic: topic, partition: 0), offset: offset,
            timestampMilliseconds: timestampMilliseconds, key: key, value: value, headers: headers)
    }

    /// A produced record, as its consumer gets it.
    package convenience init(
        _ record: ProducerRecord, partition: Int32 = 0, at offset: Int64, timestampMilliseconds: Int64? = nil
    ) {
        self.init(
            topicPartition: TopicPartition(topic: record.topic, partition: partition), offset: offset,
            timestampMilliseconds: timestampMilliseconds, key: record.key, value: record.value, headers: record.headers)
    }
}
