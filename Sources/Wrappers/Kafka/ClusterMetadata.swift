import CRDKafka

/// The brokers and topics that the cluster reports.
package struct ClusterMetadata: Sendable, Equatable {
    /// IDs of the running brokers, as set by `broker.id` or `node.id`.
    package let brokerIDs: [Int32]
    package let topics: [TopicMetadata]

    package subscript(topic name: String) -> TopicMetadata? { topics.first { $0.name == name } }
}

/// The partitions that the cluster reports for one topic.
package struct TopicMetadata: Sendable, Equatable {
    package let name: String
    package let partitionCount: Int
    /// `unknownTopicOrPartition` if the topic does not exist.
    package let error: KafkaError?

    package var partitions: [TopicPartition] {
        (0..<Int32(clamping: partitionCount)).map { TopicPartition(topic: name, partition: $0) }
    }
}

/// The offsets between which a partition has records, within `KafkaBounds.offsets`.
package struct Watermarks: Sendable, Equatable {
    /// The oldest offset that retention has kept.
    package let low: Int64
    /// The offset that the next record will get.
    package let high: Int64

    package init(low: Int64, high: Int64) {
        self.low = KafkaBounds.offset(low)
        self.high = max(self.low, KafkaBounds.offset(high))
    }
}

extension ClusterMetadata {
    init(_ metadata: rd_kafka_metadata) {
        brokerIDs = (0..<Int(unsafe metadata.broker_cnt)).map { index in unsafe metadata.brokers[index].id }
        topics = (0..<Int(unsafe metadata.topic_cnt)).map { index in
            let topic = unsafe metadata.topics[index]
            let code = unsafe topic.err
            return unsafe TopicMetadata(
                name: String(optionalCString: topic.topic), partitionCount: Int(topic.partition_cnt),
                error: code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : KafkaError(code))
        }
    }
}
