/// An error, and the partition it concerns where it concerns one.
package struct PartitionError: Error, Sendable, Equatable {
    package let error: KafkaError
    package let topicPartition: TopicPartition?
}
