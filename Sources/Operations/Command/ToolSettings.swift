import Settings
import Worker

/// The settings that the tool shares with the workers, so that one file serves both.
enum ToolSettings {
    static let postgresURL = Setting<String?>.optional(
        "postgres.url",
        .string(),
        isSecret: true,
        "The database, as postgresql://user:password@host:port/database."
    )

    /// The file may hold the workers' other settings as well.
    static let schema = SettingsSchema(
        WorkerSettings.declarations.filter { $0.name.hasPrefix("kafka.") }
            + [postgresURL.declaration],
        otherSections: WorkerSettings.sections
    )

    /// The options by which a command line overrides the environment and the file.
    static let kafkaOptions = [
        CommandOption(
            "kafka",
            argument: "HOST:PORT,…",
            "Kafka's bootstrap servers (KAFKA_BOOTSTRAP)."
        ),
        CommandOption("prefix", argument: "TEXT", "What the topics' names begin with."),
    ]
    static let groupOption = CommandOption(
        "group-prefix",
        argument: "TEXT",
        "What the consumer groups' names begin with."
    )
    static let postgresOption = CommandOption(
        "postgres",
        argument: "URL",
        "The database. Others on this machine see a command line: where the URL holds a password, "
            + "prefer POSTGRES_URL, or a file named by POSTGRES_URL_FILE."
    )
    static let configOption = CommandOption(
        "config",
        short: "c",
        argument: "FILE",
        "A JSON file of settings, as the workers read it."
    )
    static let jsonOption = CommandOption("json", "Print one JSON object instead of text.")

    /// Reads the environment and the file, with the options laid over them.
    static func read(
        _ arguments: CommandArguments,
        _ environment: [String: String]
    ) throws -> SettingsValues {
        var environment = environment
        for (option, setting) in [
            ("kafka", WorkerSettings.bootstrap.declaration),
            ("prefix", WorkerSettings.topicPrefix.declaration),
            ("group-prefix", WorkerSettings.groupPrefix.declaration),
            ("postgres", postgresURL.declaration),
        ] {
            guard let value = arguments.value(option) else { continue }
            environment[setting.environmentName] = value
            environment["\(setting.environmentName)_FILE"] = nil
        }
        let file = try arguments.value("config").map { path throws(SettingsError) in
            try SettingsFile(path: path)
        }
        return try schema.read(environment: environment, file: file)
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

    /// The database, which a command that needs one cannot do without.
    func requiredPostgresURL() throws(CommandError) -> String {
        guard let url = self[ToolSettings.postgresURL] else {
            throw CommandError(
                ExitCode.configuration,
                "no database is named: set POSTGRES_URL, or give --postgres"
            )
        }
        return url
    }
}
