package import Settings

extension SettingsValues {
    /// The consumer group of a stage.
    package func group(_ stage: StageDescription) -> String {
        self[WorkerSettings.groupPrefix] + stage.name
    }

    /// The name of a topic, its prefix before it.
    package func topic(_ name: String) -> String {
        self[WorkerSettings.topicPrefix] + name
    }

    /// librdkafka's properties of a stage's consumer; what the wrapper promises is not in them.
    package func consumerProperties(_ stage: StageDescription) -> [String: String] {
        let session = Int(self[WorkerSettings.sessionTimeout] / .milliseconds(1))
        var properties = clientProperties(stage)
        properties["group.id"] = group(stage)
        properties["session.timeout.ms"] = String(session)
        properties["heartbeat.interval.ms"] = String(min(3000, session / 3))
        if let instance = self[WorkerSettings.instanceID] {
            properties["group.instance.id"] = instance
        }
        return properties
    }

    /// librdkafka's properties of a stage's producer.
    package func producerProperties(_ stage: StageDescription) -> [String: String] {
        clientProperties(stage)
    }

    /// What all clients of a stage share, the properties passed through among them.
    package func clientProperties(_ stage: StageDescription) -> [String: String] {
        var properties = kafkaProperties
        properties["bootstrap.servers"] = self[WorkerSettings.bootstrap].commaSeparated
        properties["client.id"] = self[WorkerSettings.instanceID] ?? stage.program
        return properties
    }
}
