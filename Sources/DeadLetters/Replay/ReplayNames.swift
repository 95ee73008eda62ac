import Kafka
import Records
import Topology
import Worker

/// The names of topics and groups, and Kafka's properties.
package struct ReplayNames: Sendable {
    /// librdkafka's properties, bootstrap servers included.
    package let kafka: [String: String]
    package let topicPrefix: String
    package let groupPrefix: String

    package init(kafka: [String: String], topicPrefix: String, groupPrefix: String) {
        self.kafka = kafka
        self.topicPrefix = topicPrefix
        self.groupPrefix = groupPrefix
    }

    var deadLetterTopic: String { topicPrefix + Topic.deadLetter }

    /// The stages by their input topics; nothing is ever written to other topics.
    var stages: [String: StageDescription] {
        Dictionary(
            uniqueKeysWithValues: Topology.stages.map { (topicPrefix + $0.inputTopic, $0) }
        )
    }

    func group(_ stage: StageDescription) -> String { groupPrefix + stage.name }

    func position(of letter: ChainLetter) -> RecordPosition {
        RecordPosition(topic: deadLetterTopic, partition: letter.partition, offset: letter.offset)
    }

    /// The offsets between which the dead-letter topic holds records.
    func letterMarks() async throws -> [TopicPartition: Watermarks] {
        let admin = try KafkaAdmin(configuration: kafka)
        do {
            // For all topics: a request for one creates it on brokers with automatic creation.
            let metadata = try await admin.metadata(deadline: Self.deadline)
            guard let topic = metadata[topic: deadLetterTopic], topic.error == nil else {
                throw ReplayError(
                    .interrupted,
                    "there is no topic \(deadLetterTopic), or no right to see it: see --prefix"
                )
            }
            let marks = try await admin.listOffsets(topic.partitions, deadline: Self.deadline)
            await admin.close()
            return marks
        } catch {
            await admin.close()
            throw error
        }
    }

    private static let deadline = Duration.seconds(30)
}
