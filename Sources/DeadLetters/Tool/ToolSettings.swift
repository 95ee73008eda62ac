import Records
import Settings

/// The settings of the tool, a few of the workers'.
enum ToolSettings {
    static let bootstrap = Setting(
        "kafka.bootstrap",
        .hostPorts,
        default: [HostPort(host: "localhost", port: 9092)],
        "Kafka's bootstrap servers."
    )
    static let topicPrefix = Setting(
        "kafka.topic_prefix",
        .string(bytes: 0...100),
        default: "storekit.",
        "What the topics' names begin with."
    )

    static let schema = SettingsSchema(
        [bootstrap.declaration, topicPrefix.declaration],
        passesOverUnknown: true
    )

    static let options = [
        CommandOption("kafka", argument: "HOST:PORT,…", "Kafka's bootstrap servers."),
        CommandOption("prefix", argument: "TEXT", "What the topics' names begin with."),
        CommandOption(
            "config",
            short: "c",
            argument: "FILE",
            "The workers' JSON file of settings."
        ),
    ]

    /// The topic that the command line, the environment and the file name.
    static func topic(
        _ arguments: CommandArguments,
        environment: [String: String]
    ) throws -> DeadLetterTopic {
        var environment = environment
        for (option, setting) in [
            ("kafka", bootstrap.declaration), ("prefix", topicPrefix.declaration),
        ] {
            if let value = arguments.value(option) {
                environment[setting.environmentName] = value
            }
        }
        let file = try arguments.value("config").map { try SettingsFile(path: $0) }
        let values = try schema.read(environment: environment, file: file)
        var properties = values.kafkaProperties
        properties["bootstrap.servers"] = values[bootstrap].commaSeparated
        properties["client.id"] = "dead-letter"
        return DeadLetterTopic(
            name: values[topicPrefix] + Topic.deadLetter,
            configuration: properties
        )
    }
}
