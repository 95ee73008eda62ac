package import AppStore
package import Settings

/// The auditors' tool: everything of the `dead-letter` executable but its process.
package enum DeadLetterTool {
    package static let name = "dead-letter"

    private static var commands: [any DeadLetterCommand.Type] {
        [ListCommand.self, ShowCommand.self, CountCommand.self]
    }

    /// Performs one command line.
    ///
    /// - Parameters:
    ///   - arguments: without the executable's own path.
    ///   - now: what `--since 2h` counts from.
    /// - Returns: the exit code.
    package static func run(
        _ arguments: [String],
        environment: [String: String],
        now: Timestamp,
        console: Console = .standard
    ) async -> Int32 {
        guard let first = arguments.first else {
            console.note(help)
            return ExitCode.usage
        }
        if ["--help", "-h", "help"].contains(first) {
            console.print(text: help)
            return ExitCode.success
        }
        guard let command = commands.first(where: { $0.name == first }) else {
            console.note("\(name): there is no command \"\(first)\"\n\(tryHelp())")
            return ExitCode.usage
        }
        do {
            return try await run(command, arguments.dropFirst(), environment, now, console)
        } catch let error as UsageError {
            console.note("\(name) \(command.name): \(error)\n\(tryHelp(command.name))")
            return ExitCode.usage
        } catch let error as SettingsError {
            console.note("\(name): " + error.problems.map(\.description).joined(separator: "\n"))
            return ExitCode.configuration
        } catch let error as DeadLetterTopicError {
            console.note("\(name): \(error)")
            return error.code == .configuration ? ExitCode.configuration : ExitCode.unavailable
        } catch {
            console.note("\(name): \(error)")
            return ExitCode.software
        }
    }

    private static func run(
        _ command: any DeadLetterCommand.Type,
        _ arguments: ArraySlice<String>,
        _ environment: [String: String],
        _ now: Timestamp,
        _ console: Console
    ) async throws -> Int32 {
        let parsed = try command.syntax.parse(arguments)
        if parsed.isHelpWanted {
            console.print(text: command.syntax.help)
            return ExitCode.success
        }
        let topic = try DeadLetterSettings.topic(parsed, environment: environment)
        return try await command.run(
            ToolContext(arguments: parsed, topic: topic, now: now, console: console)
        )
    }

    private static var help: String {
        let lines = commands.map { command in
            let blanks = String(repeating: " ", count: max(1, 8 - command.name.count))
            let summary = command.syntax.summary.prefix { $0 != "." && $0 != "," }
            return "  \(command.name)\(blanks)\(summary).\n"
        }
        return "Usage: \(name) COMMAND [OPTION]…\n\n"
            + "Reads the dead-letter topic; changes nothing.\n\nCommands:\n" + lines.joined()
            + "\nSettings also come from the environment: KAFKA_BOOTSTRAP, KAFKA_TOPIC_PREFIX and\n"
            + "RDKAFKA_* for librdkafka's own. '\(name) COMMAND --help' shows the options."
    }

    private static func tryHelp(_ command: String? = nil) -> String {
        "Try '\(name)\(command.map { " \($0)" } ?? "") --help'."
    }
}

/// One of the tool's commands.
protocol DeadLetterCommand {
    static var name: String { get }
    static var syntax: CommandSyntax { get }

    /// Performs the command and returns its exit code.
    static func run(_ context: ToolContext) async throws -> Int32
}

extension DeadLetterCommand {
    static func syntax(
        _ summary: String,
        operands: String = "",
        operandCount: ClosedRange<Int> = 0...0,
        options: [CommandOption]
    ) -> CommandSyntax {
        CommandSyntax(
            "\(DeadLetterTool.name) \(name)",
            summary,
            operands: operands,
            operandCount: operandCount,
            options: options + DeadLetterSettings.options
                + [CommandOption("json", short: "j", "Print JSON instead of text.")]
        )
    }
}

/// What a command works with.
struct ToolContext: Sendable {
    let arguments: CommandArguments
    let topic: DeadLetterTopic
    let now: Timestamp
    let console: Console

    var isJSON: Bool { arguments.isSet("json") }
}

/// What is worth saying about a reading beside its result.
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
