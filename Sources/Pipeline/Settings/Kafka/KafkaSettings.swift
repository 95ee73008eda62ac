/// The settings of every program that uses Kafka: the servers and the prefixes of names.
package enum KafkaSettings {
    package static let bootstrap = Setting("kafka.bootstrap", .hostPorts, "Kafka bootstrap servers.")
    package static let topicPrefix = Setting(
        "kafka.topic_prefix", .string(bytes: 0...100), default: "storekit.", "Prefix of the topics' names.")
    package static let groupPrefix = Setting(
        "kafka.group_prefix", .string(bytes: 0...100), default: "entitlements.",
        "Prefix of the consumer groups' names; the stage's name follows.")

    /// The settings with the command-line options that override them.
    package static let overrides = [
        ("kafka", bootstrap.declaration), ("prefix", topicPrefix.declaration),
        ("group-prefix", groupPrefix.declaration),
    ]
}

extension SettingsValues {
    /// Returns the name of a topic with the configured prefix.
    package func topic(_ name: String) -> String { self[KafkaSettings.topicPrefix] + name }
}

extension SettingsSchema {
    /// Reads a tool's settings from the file that `--config` names, the environment and the options.
    ///
    /// An option has precedence over both, even if it is empty.
    ///
    /// - Parameter overrides: the options and the settings that they override.
    package func read(
        _ arguments: CommandArguments, environment: [String: String],
        overrides: [(option: String, setting: SettingDeclaration)]
    ) throws(SettingsError) -> SettingsValues {
        var options: [String: SettingsReader.GivenOption] = [:]
        for (option, setting) in overrides { options[setting.name] = arguments.value(option).map { (option, $0) } }
        let file = try arguments.value("config").map { path throws(SettingsError) in try SettingsFile(path: path) }
        var reader = SettingsReader(schema: self, environment: environment, file: file, options: options)
        return try reader.read()
    }
}
