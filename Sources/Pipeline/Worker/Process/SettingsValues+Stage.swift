package import Records
package import Settings

extension SettingsValues {
    package func group(_ stage: StageDescription) -> String { self[KafkaSettings.groupPrefix] + stage.name }

    /// Returns librdkafka's properties of a stage's consumer, without the properties that the wrapper sets.
    package func consumerProperties(_ stage: StageDescription) -> [String: String] {
        let session = Int(self[WorkerSettings.sessionTimeout] / .milliseconds(1))
        var properties = clientProperties(stage)
        properties["group.id"] = group(stage)
        properties["session.timeout.ms"] = String(session)
        // A member learns of a rebalance from the answer to its heartbeat; nobody reads the moved partitions until the
        // last member has learned of it.
        properties["heartbeat.interval.ms"] = String(min(500, session / 3))
        if let instance = self[WorkerSettings.instanceID] { properties["group.instance.id"] = instance }
        return properties
    }

    /// Returns librdkafka's properties of a stage's producer.
    package func producerProperties(_ stage: StageDescription) -> [String: String] { clientProperties(stage) }

    /// Returns the properties of all clients of a stage, including the properties passed through.
    package func clientProperties(_ stage: StageDescription) -> [String: String] {
        var properties = kafkaProperties
        properties["bootstrap.servers"] = self[KafkaSettings.bootstrap].commaSeparated
        properties["client.id"] = self[WorkerSettings.instanceID] ?? stage.program
        return properties
    }
}
