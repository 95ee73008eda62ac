import Kafka
import Records

/// Reads new records of the dead-letter topic, each once, without a group.
///
/// For one task at a time; `close()` ends it.
final class LetterFollower {
    private let consumer: KafkaConsumer
    private let topic: String
    private var assigned: Set<TopicPartition> = []
    /// The next offset to read of each partition.
    private(set) var next: [TopicPartition: Int64]

    /// - Parameter next: where to begin; a partition without an entry was added later and is read
    ///   from its start.
    init(
        _ configuration: [String: String],
        topic: String,
        from next: [TopicPartition: Int64]
    ) throws {
        let own = ["group.id": "dead-letter-reader"]
        consumer = try KafkaConsumer(configuration: configuration.merging(own) { $1 })
        self.topic = topic
        self.next = next
    }

    func close() async {
        await consumer.close(deadline: Self.deadline)
    }

    /// Visits every unvisited record below these ends.
    ///
    /// Throws if the topic ends before an offset that was read: it was recreated, and refusals
    /// written since may be lost.
    func read(
        to ends: [TopicPartition: Int64],
        _ visit: (ConsumerRecord) -> Void
    ) async throws {
        for (partition, end) in ends where next[partition, default: 0] > end {
            throw ReplayError(
                .interrupted,
                "\(partition) ends at \(end), before the offset \(next[partition, default: 0]) that"
                    + " was read before: the topic was recreated; abandon the replay"
            )
        }
        let added = Set(ends.keys).subtracting(assigned)
        if !added.isEmpty {
            let starts = added.map { ($0, Optional(next[$0, default: 0])) }
            try await consumer.assign(with: Dictionary(uniqueKeysWithValues: starts))
            assigned.formUnion(added)
        }
        var lastProgress = ContinuousClock.now
        while ends.contains(where: { next[$0.key, default: 0] < $0.value }) {
            let result = try await consumer.poll(
                recordsMax: Self.pollRecordsMax,
                bytesMax: Self.pollBytesMax,
                wait: .milliseconds(100)
            )
            for record in result.records {
                next[record.topicPartition] = record.offset + 1
                visit(record)
            }
            // The last offsets may hold no record.
            for end in result.ends {
                next[end.partition] = max(next[end.partition, default: 0], end.offset)
            }
            if !result.records.isEmpty || !result.ends.isEmpty {
                lastProgress = .now
            } else if ContinuousClock.now - lastProgress > Self.deadline {
                throw result.errors.last?.error ?? KafkaError.deadline("reading \(topic)")
            }
        }
    }

    private static let deadline = Duration.seconds(30)
    private static let pollRecordsMax = 500
    private static let pollBytesMax = 4 << 20
}
