package import Commands
import Platform
import Postgres
import Settings
import Store

/// The auditors' tool.
package enum DeadLetterTool {
    package static let name = "dead-letter"

    private static var commands: [any DeadLetterCommand.Type] {
        [
            ListCommand.self, CountCommand.self, GroupsCommand.self, ShowCommand.self, SearchCommand.self,
            TailCommand.self, ResolveCommand.self, SuppressCommand.self, ReopenCommand.self, RedactCommand.self,
            ReplayCommand.self, ReplaysCommand.self, VerifyChainsCommand.self, ExportCommand.self, AnchorCommand.self,
        ]
    }

    /// - Parameter others: commands of other modules.
    package static func tool(adding others: [any DeadLetterCommand.Type] = []) -> CommandTool {
        CommandTool(
            name,
            introduction: [
                "Answers what was refused, why, and what was done about it, from the dead-letter",
                "topic and its index.",
            ],
            remarks: [
                "Settings also come from the environment: KAFKA_BOOTSTRAP, KAFKA_TOPIC_PREFIX,",
                "DATABASE_URL, and RDKAFKA_* for librdkafka's own. Without a database, list, count",
                "and show read the topic.",
            ], settings: DeadLetterSettings.known, commands: (commands + others).map { ToolCommand($0) })
    }
}

extension ToolCommand {
    fileprivate init(_ command: any DeadLetterCommand.Type) {
        let syntax = command.syntax
        self.init(
            syntax: syntax, settings: command.settings,
            rights: "'\(syntax.command)' takes the rights of the role \(command.role.name), or of "
                + "one that has them too: see 'pipeline grants'"
        ) { arguments, context in
            let context = try ToolContext(arguments, context)
            return try await closing {
                await context.client?.close()
            } after: {
                try await command.run(context)
            }
        }
    }
}
