/// What the cluster says about one topic.
package struct TopicMetadata: Sendable, Equatable {
    package let name: String
    package let partitionCount: Int
    /// `unknownTopicOrPartition` where the topic does not exist.
    package let error: KafkaError?

    package init(name: String, partitionCount: Int, error: KafkaError?) {
        self.name = name
        self.partitionCount = partitionCount
        self.error = error
    }

    package var partitions: [TopicPartition] {
        (0..<Int32(clamping: partitionCount)).map { TopicPartition(topic: name, partition: $0) }
    }
}
