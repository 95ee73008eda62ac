import AppStore
import Commands
import Postgres
import Records
package import Settings
package import Store
import Topology

/// The settings of the tool, which are some of the workers' settings.
package enum DeadLetterSettings {
    /// The bootstrap servers; by default the broker of this machine.
    private static let bootstrap = KafkaSettings.bootstrap.defaulted(to: [HostPort(host: "localhost", port: 9092)])

    /// The database's URL; empty for none, so that only the topic is read.
    private static let database = DatabaseSettings.url.defaulted(to: "")

    private static let schema = SettingsSchema(
        [
            bootstrap.declaration, KafkaSettings.topicPrefix.declaration, KafkaSettings.groupPrefix.declaration,
            database.declaration,
        ] + DatabaseSettings.declarations.filter { $0.name != database.declaration.name }, ignoresUnknown: true)

    /// The settings of the tool, and those of the workers in the same sections.
    static let known = WorkerSettings.declarations + DatabaseSettings.declarations + VerifySettings.declarations

    /// The options of every command.
    package static let options =
        CommandOption.kafka + [
            CommandOption(
                "postgres", argument: "URL",
                "The database of the index (DATABASE_URL, DATABASE_URL_FILE). Others on this "
                    + "machine see a command line: give no password here."), .config,
        ]

    /// Reads the command line, the environment and the file.
    static func read(_ arguments: CommandArguments, environment: [String: String]) throws -> SettingsValues {
        try schema.read(arguments, environment: environment, overrides: DatabaseSettings.overrides)
    }

    /// librdkafka's properties of the tool's clients.
    package static func clientProperties(_ values: SettingsValues) -> [String: String] {
        var properties = values.kafkaProperties
        properties["bootstrap.servers"] = values[bootstrap].commaSeparated
        properties["client.id"] = DeadLetterTool.name
        return properties
    }

    static func topic(_ values: SettingsValues) -> DeadLetterTopic {
        DeadLetterTopic(name: values.topic(Topic.deadLetter), configuration: clientProperties(values))
    }

    /// Makes a client that connects when it is first used.
    ///
    /// `nil` if no database is configured.
    static func client(_ values: SettingsValues) -> PostgresClient? {
        guard !values[database].isEmpty else { return nil }
        var options = DatabaseSettings.options(values, applicationName: DeadLetterTool.name)
        options.sessionSettings = DeadLetterTable.sessionSettings
        return PostgresClient(options, connectionsMax: values[DatabaseSettings.connectionsMax])
    }

    /// Checks the brokers, the dead-letter topic, the stages' input topics, and the database.
    package static func connections(_ values: SettingsValues, role: DatabaseRole) async -> [ConnectionFinding] {
        let needs = ([Topic.deadLetter] + Topology.stages.map(\.inputTopic)).map { topic in
            TopicNeed(values.topic(topic), Topic.requiredSettings(of: topic))
        }
        let topics = await KafkaCheck.findings(clientProperties(values), needs: needs)
        guard !values[database].isEmpty else {
            let message = "required: set database.url (DATABASE_URL) or --postgres"
            return topics + [.wrong("database", exitCode: ExitCode.configuration, message)]
        }
        let options = DatabaseSettings.options(values, applicationName: DeadLetterTool.name)
        return await topics + DatabaseCheck.findings(options, role: role)
    }
}
