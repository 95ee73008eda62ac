import Kafka
import Records

/// Reads what is added to the dead-letter topic, each record once, without a group.
///
/// For one task at a time; `close()` ends it.
final class LetterFollower {
    private let consumer: KafkaConsumer
    private let topic: String
    private var assigned: Set<TopicPartition> = []
    /// What is read next of each partition.
    private(set) var next: [TopicPartition: Int64]

    /// - Parameter next: where to begin; a partition that is not among them was added later and is
    ///   read from its start.
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

    /// Visits every record below these ends that was not visited yet.
    ///
    /// Throws where the topic ends before what was read of it: it was made anew, and what was
    /// refused meanwhile cannot be told.
    func read(
        to ends: [TopicPartition: Int64],
        _ visit: (ConsumerRecord) -> Void
    ) async throws {
        for (partition, end) in ends where next[partition, default: 0] > end {
            throw ReplayError(
                .interrupted,
                "\(partition) ends at \(end), before the offset \(next[partition, default: 0]) that"
                    + " was read before: the topic was made anew; abandon the replay"
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
