/// What became of one commit, partition by partition.
package struct CommitOutcome: Sendable, Equatable {
    /// The partitions whose offset was not committed; empty when all were.
    package let failures: [TopicPartition: KafkaError]

    package init(failures: [TopicPartition: KafkaError]) {
        self.failures = failures
    }

    /// librdkafka reports an error of the whole request beside those of its partitions; it counts
    /// for all of them where it is not explained by one.
    init(error: KafkaError?, elements: [PartitionListElement]) {
        var failures: [TopicPartition: KafkaError] = [:]
        for element in elements {
            failures[element.topicPartition] = element.error
        }
        if let error, failures.isEmpty {
            for element in elements {
                failures[element.topicPartition] = error
            }
        }
        self.init(failures: failures)
    }

    static func failed(
        _ partitions: some Sequence<TopicPartition>,
        _ error: KafkaError
    ) -> CommitOutcome {
        CommitOutcome(failures: Dictionary(uniqueKeysWithValues: partitions.map { ($0, error) }))
    }
}
