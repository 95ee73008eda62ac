import Kafka
import Records
import Topology

/// The names of topics and groups, and Kafka's properties.
package struct ReplayNames: Sendable {
    /// librdkafka's properties, bootstrap servers included.
    package let kafka: [String: String]
    package let topicPrefix: String
    package let groupPrefix: String

    var deadLetterTopic: String { topicPrefix + Topic.deadLetter }

    /// The only topic that a replay writes to, because everything in it is verified before it is used.
    var rawTopic: String { topicPrefix + Topic.raw }

    var letters: DeadLetterTopic { DeadLetterTopic(name: deadLetterTopic, configuration: kafka) }

    /// The stages by their input topics.
    var stages: [String: StageDescription] {
        Dictionary(uniqueKeysWithValues: Topology.stages.map { (topicPrefix + $0.inputTopic, $0) })
    }

    func group(_ stage: StageDescription) -> String { groupPrefix + stage.name }

    func position(of letter: ChainLetter) -> RecordPosition { position(letter.partition, letter.offset) }

    /// A position in the dead-letter topic.
    func position(_ partition: Int32, _ offset: Int64) -> RecordPosition {
        RecordPosition(topic: deadLetterTopic, partition: partition, offset: offset)
    }
}
