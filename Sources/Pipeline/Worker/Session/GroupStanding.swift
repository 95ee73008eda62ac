import Kafka
import Settings
import Telemetry

/// The state of this worker in its consumer group, as the brokers report it.
struct GroupStanding: Sendable {
    /// Whether the group is known to be balanced since the last rebalance.
    var isBalanced = false
    /// Topics that were already reported as missing.
    var missingTopics: Set<String> = []
    /// The errors with which Kafka has refused this worker, each logged once.
    var refusals: [KafkaError] = []

    /// Returns the reason why this worker does not read.
    ///
    /// `nil` while the worker reads a partition, or while it has none and the group is balanced. A worker that lost
    /// its partitions, or waits for the other members, settles no record.
    func obstacle(isReading: Bool) -> String? {
        if let topic = missingTopics.min() { return "topic \(topic) is missing or not authorized" }
        if let error = refusals.last { return "\(error)" }
        return isReading || isBalanced ? nil : "waiting for the group"
    }
}

extension SessionCore {
    mutating func showReadiness() { perform(.setObstacle(group.obstacle(isReading: assignment.isReading))) }

    /// Records the errors of a poll; reports each missing topic once.
    mutating func record(_ errors: [PartitionError]) {
        for found in errors {
            let error = found.error
            if error.code == .unknownTopicOrPartition, let partition = found.topicPartition {
                recordMissing(partition.topic)
            } else if error.code == .unauthorized {
                recordRefusal(error, found.topicPartition?.topic)
            } else if error.code != .maxPollExceeded {
                log(.debug, "consumer error", ["error": "\(error)"])
            }
        }
    }

    private mutating func recordMissing(_ topic: String) {
        guard group.missingTopics.insert(topic).inserted else { return }
        showReadiness()
        perform(.reportMissing(topic: topic))
    }

    /// Handles a broker's refusal to let this worker join its group or read its topic.
    private mutating func recordRefusal(_ error: KafkaError, _ topic: String?) {
        guard !group.refusals.contains(where: { $0.name == error.name }) else { return }
        group.refusals.append(error)
        showReadiness()
        var metadata: LogMetadata = [
            "kafka.group": .string(configuration.consumerProperties["group.id"] ?? ""), "error": .string("\(error)"),
        ]
        if let topic { metadata.append("kafka.topic", .string(topic)) }
        log(.error, "not authorized to read, retrying", metadata)
    }

    /// Whether a topic is missing or nothing is assigned, so that metadata must be requested.
    var lacksTopics: Bool { !group.missingTopics.isEmpty || assignment.partitions.isEmpty }

    /// Handles the brokers' answer with these topics.
    mutating func found(_ topics: [String]) {
        let found = group.missingTopics.intersection(topics)
        guard !found.isEmpty else { return }
        group.missingTopics.subtract(found)
        // The group was balanced without this topic.
        group.isBalanced = false
        for topic in found { log(.notice, "topic found", ["kafka.topic": .string(topic)]) }
    }
}
