/// One partition of one topic.
package struct TopicPartition: Hashable, Sendable, Comparable {
    package let topic: String
    package let partition: Int32

    package init(topic: String, partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    package static func < (left: TopicPartition, right: TopicPartition) -> Bool {
        left.topic == right.topic ? left.partition < right.partition : left.topic < right.topic
    }
}

extension TopicPartition: CustomStringConvertible {
    package var description: String { "\(topic)[\(partition)]" }
}
