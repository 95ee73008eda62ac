package import Settings
import Store
import Worker

/// The settings that the tool shares with the workers, so that one file serves both.
package enum ToolSettings {
    /// What a command talks to; only its settings have to be there.
    package struct Needs: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) {
            self.rawValue = rawValue
        }

        package static let kafka = Needs(rawValue: 1)
        package static let database = Needs(rawValue: 2)
        /// What passes through to librdkafka, and none of the settings.
        package static let kafkaProperties = Needs(rawValue: 4)
    }

    package static func schema(_ needs: Needs) -> SettingsSchema {
        var declarations: [SettingDeclaration] = []
        if needs.contains(.kafka) {
            declarations += [
                WorkerSettings.bootstrap.declaration, WorkerSettings.topicPrefix.declaration,
                WorkerSettings.groupPrefix.declaration,
            ]
        }
        if needs.contains(.database) {
            declarations += DatabaseSettings.declarations
        }
        return SettingsSchema(
            declarations,
            takesKafkaProperties: !needs.isDisjoint(with: [.kafka, .kafkaProperties]),
            passesOverUnknown: true
        )
    }

    /// The options by which a command line overrides the environment and the file.
    static let kafkaOptions = [
        CommandOption(
            "kafka",
            argument: "HOST:PORT,…",
            "Kafka's bootstrap servers (KAFKA_BOOTSTRAP)."
        ),
        CommandOption("prefix", argument: "TEXT", "Prefix of the topics' names."),
    ]
    static let groupOption = CommandOption(
        "group-prefix",
        argument: "TEXT",
        "Prefix of the consumer groups' names."
    )
    static let postgresOption = CommandOption(
        "postgres",
        argument: "URL",
        "The database. Others on this machine see a command line: where the URL holds a password, "
            + "prefer DATABASE_URL, or a file named by DATABASE_URL_FILE."
    )
    static let configOption = CommandOption(
        "config",
        short: "c",
        argument: "FILE",
        "A JSON file of settings, as the workers read it."
    )
    package static let jsonOption = CommandOption("json", "Print one JSON object instead of text.")

    private static let overrides: [(option: String, setting: SettingDeclaration)] = [
        ("kafka", WorkerSettings.bootstrap.declaration),
        ("prefix", WorkerSettings.topicPrefix.declaration),
        ("group-prefix", WorkerSettings.groupPrefix.declaration),
        ("postgres", DatabaseSettings.url.declaration),
    ]

    /// Reads the environment and the file, with the options laid over them.
    static func read(
        _ arguments: CommandArguments,
        _ environment: [String: String],
        _ needs: Needs
    ) throws -> SettingsValues {
        var environment = environment
        for (option, setting) in overrides {
            guard let value = arguments.value(option) else { continue }
            environment[setting.environmentName] = value
            environment["\(setting.environmentName)_FILE"] = nil
        }
        let file = try arguments.value("config").map { path throws(SettingsError) in
            try SettingsFile(path: path)
        }
        return try schema(needs).read(environment: environment, file: file)
    }
}

extension SettingsValues {
    /// librdkafka's properties for a client of this tool.
    var kafkaConfiguration: [String: String] {
        kafkaProperties.merging([
            "bootstrap.servers": self[WorkerSettings.bootstrap].commaSeparated,
            "client.id": PipelineTool.name,
        ]) { $1 }
    }
}
