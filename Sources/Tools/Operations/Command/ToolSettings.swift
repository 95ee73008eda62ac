import Commands
package import Settings
import Store
import Topology

/// The settings that the tool shares with the workers, so that both can read one file.
package enum ToolSettings {
    /// The servers that a command uses; only their settings are required.
    package struct Needs: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let kafka = Needs(rawValue: 1)
        package static let database = Needs(rawValue: 2)
        /// Only the properties that are passed to librdkafka.
        package static let kafkaProperties = Needs(rawValue: 4)
    }

    package static func schema(_ needs: Needs) -> SettingsSchema {
        var declarations: [SettingDeclaration] = []
        if needs.contains(.kafka) {
            declarations += [
                KafkaSettings.bootstrap.declaration, KafkaSettings.topicPrefix.declaration,
                KafkaSettings.groupPrefix.declaration,
            ]
        }
        if needs.contains(.database) { declarations += DatabaseSettings.declarations }
        return SettingsSchema(
            declarations, takesKafkaProperties: !needs.isDisjoint(with: [.kafka, .kafkaProperties]),
            ignoresUnknown: true)
    }

    /// The settings of the workers and of the tool, which the environment may contain.
    package static let known =
        WorkerSettings.declarations + DatabaseSettings.declarations + VerifySettings.declarations
        + DedupeSettings.declarations + LinkSettings.declarations + EntitleSettings.declarations
        + RecoverySettings.declarations
}

extension CommandOption {
    static let groupPrefix = CommandOption("group-prefix", argument: "TEXT", "Prefix of the consumer groups' names.")
    static let postgres = CommandOption(
        "postgres", argument: "URL",
        "The database. Others on this machine see a command line: where the URL holds a password, "
            + "prefer DATABASE_URL, or a file named by DATABASE_URL_FILE.")
}

extension SettingsValues {
    /// The librdkafka properties for a client of this tool.
    var kafkaConfiguration: [String: String] {
        kafkaProperties.merging([
            "bootstrap.servers": self[KafkaSettings.bootstrap].commaSeparated, "client.id": PipelineTool.name,
        ]) { $1 }
    }
}
