package import JSON
package import Kafka

/// The position of a record: `topic/partition/offset`.
package struct RecordPosition: Hashable, Sendable, CustomStringConvertible {
    package let topic: String
    package let partition: Int32
    package let offset: Int64

    package init(topic: String, partition: Int32, offset: Int64) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
    }

    package init(_ record: ConsumerRecord) {
        self.init(
            topic: record.topicPartition.topic,
            partition: record.topicPartition.partition,
            offset: record.offset
        )
    }

    /// Reads what `description` writes.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, let partition = Int32(parts[1]),
            let offset = Int64(parts[2]), partition >= 0, KafkaBounds.offsets.contains(offset)
        else { return nil }
        self.init(topic: String(parts[0]), partition: partition, offset: offset)
    }

    package var description: String { "\(topic)/\(partition)/\(offset)" }
}

extension JSONWriter {
    /// Writes the members that name a record.
    package mutating func position(topic: String, partition: some BinaryInteger, offset: Int64) {
        key("topic")
        string(topic)
        key("partition")
        int(Int64(partition))
        key("offset")
        int(offset)
    }
}
