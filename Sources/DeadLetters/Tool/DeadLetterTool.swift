package import AppStore
import Platform
import Postgres
package import Settings
import Store

/// The auditors' tool: everything of the `dead-letter` executable but its process.
package enum DeadLetterTool {
    package static let name = "dead-letter"

    private static var commands: [any DeadLetterCommand.Type] {
        [
            ListCommand.self, CountCommand.self, GroupsCommand.self, ShowCommand.self,
            SearchCommand.self, TailCommand.self, ResolveCommand.self, SuppressCommand.self,
            ReopenCommand.self, RedactCommand.self, ReplayCommand.self, ReplaysCommand.self,
            VerifyCommand.self, ExportCommand.self, AnchorCommand.self, IndexCommand.self,
            CompletionCommand.self,
        ]
    }

    /// Performs one command line.
    ///
    /// - Parameters:
    ///   - arguments: without the executable's own path.
    ///   - now: the time that `--since 2h` counts from.
    ///   - others: commands of other modules.
    /// - Returns: the exit code.
    package static func run(
        _ arguments: [String],
        environment: [String: String],
        now: Timestamp,
        console: Console = .standard,
        adding others: [any DeadLetterCommand.Type] = []
    ) async -> Int32 {
        let commands = commands + others
        guard let first = arguments.first else {
            console.note(help(commands))
            return ExitCode.usage
        }
        if ["--help", "-h", "help"].contains(first) {
            console.print(text: help(commands))
            return ExitCode.success
        }
        if CommandOption.isVersionWanted(arguments) {
            console.print(text: CommandOption.versionLine(name))
            return ExitCode.success
        }
        guard let command = commands.first(where: { $0.name == first }) else {
            console.note(commands.map { $0.syntax }.unknown(first, of: name))
            return ExitCode.usage
        }
        do {
            let parsed = try command.syntax.parse(arguments.dropFirst())
            guard !parsed.isHelpWanted else {
                console.print(text: command.syntax.help)
                return ExitCode.success
            }
            let known = DeadLetterSettings.known + commands.flatMap { $0.settings }
            for slip in SettingProblem.slips(in: environment, among: known) {
                console.note("\(name) \(command.name): \(slip)")
            }
            let values = try DeadLetterSettings.read(parsed, environment: environment)
            let context = ToolContext(
                arguments: parsed,
                environment: environment,
                values: values,
                topic: DeadLetterSettings.topic(values),
                client: DeadLetterSettings.client(values),
                now: now,
                console: console,
                commands: commands
            )
            return try await ServerWait.reporting(to: { console.interject($0) }) {
                try await run(command, context)
            }
        } catch let error as UsageError {
            console.note("\(name) \(command.name): \(error)\n\(tryHelp(command.name))")
            return ExitCode.usage
        } catch {
            let failure = failure(error, command)
            console.note("\(name): \(failure)")
            return failure.exitCode
        }
    }

    private static func run(
        _ command: any DeadLetterCommand.Type,
        _ context: ToolContext
    ) async throws -> Int32 {
        try await closing {
            await context.client?.close()
        } after: {
            try await command.run(context)
        }
    }

    private static func failure(
        _ error: any Error,
        _ command: any DeadLetterCommand.Type
    ) -> CommandError {
        CommandError(
            describing: error,
            rights: "'\(name) \(command.name)' takes the rights of the role "
                + "\(command.role.name), or of one that has them too: see 'pipeline grants'"
        )
    }

    private static func help(_ commands: [any DeadLetterCommand.Type]) -> String {
        "Usage: \(name) COMMAND [OPTION]…\n\n"
            + "Answers what was refused, why, and what was done about it, from the dead-letter\n"
            + "topic and its index.\n\nCommands:\n" + commands.map { $0.syntax }.overview
            + "\nSettings also come from the environment: KAFKA_BOOTSTRAP, KAFKA_TOPIC_PREFIX,\n"
            + "DATABASE_URL, and RDKAFKA_* for librdkafka's own. Without a database, list, count\n"
            + "and show read the topic. '\(name) COMMAND --help' shows the options,\n"
            + "'\(name) --version' the version.\n\n" + ExitCode.help
    }

    private static func tryHelp(_ command: String) -> String {
        "Try '\(name) \(command) --help'."
    }
}

/// Notes on a reading beside its result.
enum ReadingNotes {
    static func text<Part>(_ summary: DeadLetterTopic.Summary, _ fold: DeadLetterFold<Part>)
        -> String
    {
        var text = ""
        if fold.repetitions > 0 {
            text += ", \(fold.repetitions) repetitions folded"
        }
        if summary.foreign > 0 {
            text += ", \(summary.foreign) records that are no dead letters"
        }
        if !fold.isComplete {
            text += "; too many to fold them all, so that some may count twice: narrow --since"
        }
        return text
    }
}
