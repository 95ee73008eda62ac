package import Records
package import Settings

extension SettingsValues {
    package func group(_ stage: StageDescription) -> String { self[KafkaSettings.groupPrefix] + stage.name }

    /// librdkafka's properties of a stage's consumer; what the wrapper promises is not in them.
    package func consumerProperties(_ stage: StageDescription) -> [String: String] {
        let session = Int(self[WorkerSettings.sessionTimeout] / .milliseconds(1))
        var properties = clientProperties(stage)
        properties["group.id"] = group(stage)
        properties["session.timeout.ms"] = String(session)
        // The answer to a heartbeat announces a rebalance; nobody reads the partitions that move until
        // every member has it.
        properties["heartbeat.interval.ms"] = String(min(500, session / 3))
        if let instance = self[WorkerSettings.instanceID] { properties["group.instance.id"] = instance }
        return properties
    }

    /// librdkafka's properties of a stage's producer.
    package func producerProperties(_ stage: StageDescription) -> [String: String] { clientProperties(stage) }

    /// The properties of all clients of a stage, including those passed through.
    package func clientProperties(_ stage: StageDescription) -> [String: String] {
        var properties = kafkaProperties
        properties["bootstrap.servers"] = self[KafkaSettings.bootstrap].commaSeparated
        properties["client.id"] = self[WorkerSettings.instanceID] ?? stage.program
        return properties
    }
}
