package import JSON
package import Kafka

/// The position of a record: `topic/partition/offset`.
package struct RecordPosition: Hashable, Sendable, CustomStringConvertible {
    package var topic: String
    package var partition: Int32
    package var offset: Int64

    package init(topic: String, partition: Int32, offset: Int64) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
    }

    package init(_ record: ConsumerRecord) {
        self.init(topic: record.topicPartition.topic, partition: record.topicPartition.partition, offset: record.offset)
    }

    /// Reads the format of `description`.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, let partition = Int32(parts[1]), let offset = Int64(parts[2]),
            partition >= 0, KafkaBounds.offsets.contains(offset)
        else { return nil }
        self.init(topic: String(parts[0]), partition: partition, offset: offset)
    }

    package var description: String { "\(topic)/\(partition)/\(offset)" }

    package var topicPartition: TopicPartition { TopicPartition(topic: topic, partition: partition) }
}

extension TopicScan {
    /// Reads the records at these positions, in existing partitions; records that the topics no longer contain are
    /// omitted.
    package func records(at positions: Set<RecordPosition>, asking admin: KafkaAdmin) async throws -> [RecordPosition:
        ConsumerRecord]
    {
        var wanted = Dictionary(grouping: positions, by: \.topicPartition).mapValues { $0.map(\.offset).sorted()[...] }
        let marks = try await admin.listOffsets(Array(wanted.keys), deadline: TopicScan.silenceMax)
        var found: [RecordPosition: ConsumerRecord] = [:]
        while !wanted.isEmpty {
            var ranges: [TopicPartition: Range<Int64>] = [:]
            for (partition, offsets) in wanted {
                let range = Self.range(of: offsets)
                let held = marks[partition].map { $0.low..<max($0.low, $0.high) } ?? 0..<0
                ranges[partition] = range.clamped(to: held)
                let rest = offsets.drop { $0 < range.upperBound }
                wanted[partition] = rest.isEmpty ? nil : rest
            }
            try await read(ranges) { records in
                for record in records where positions.contains(RecordPosition(record)) {
                    found[RecordPosition(record)] = record
                }
            }
        }
        return found
    }

    /// Returns the range of the first offsets that are read without a seek between them.
    private static func range(of offsets: ArraySlice<Int64>) -> Range<Int64> {
        let first = offsets.first ?? 0
        let last = offsets.reduce(first) { $1 <= $0 + gapMax ? $1 : $0 }
        return first..<last + 1
    }
}

extension JSONWriter {
    /// Writes the members that identify a record.
    package mutating func position(_ position: RecordPosition) {
        key("topic")
        string(position.topic)
        key("partition")
        int(Int64(position.partition))
        key("offset")
        int(position.offset)
    }
}

extension RecordPosition: JSONRepresentable {
    /// The position in the format of the tools: `topic/partition/offset`.
    package var json: JSONContent { .string(description) }
}
