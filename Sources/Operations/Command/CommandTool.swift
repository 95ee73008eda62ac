import Foundation
import Platform
package import Settings
import Store

/// A program of one or more commands: finds the one that was asked for, runs it, and reports how it
/// ended.
package struct CommandTool: Sendable {
    private let name: String
    /// The tool's purpose, for the overview of its commands.
    private let introduction: [String]
    private let commands: [ToolCommand]
    /// The settings that the environment may hold; a variable that is nearly one is warned about.
    private let settings: [SettingDeclaration]

    package init(
        _ name: String,
        introduction: [String] = [],
        settings: [SettingDeclaration] = ToolSettings.known,
        commands: [ToolCommand]
    ) {
        self.name = name
        self.introduction = introduction
        self.settings = settings
        self.commands = commands
    }

    /// Runs as the process's main program.
    ///
    /// - Returns: the exit code.
    package func main() async -> Int32 {
        let executable = Bundle.main.executableURL ?? URL(filePath: CommandLine.arguments[0])
        return await run(
            Array(CommandLine.arguments.dropFirst()),
            in: CommandContext(
                console: .standard,
                environment: ProcessInfo.processInfo.environment,
                executables: folder(of: executable)
            )
        )
    }

    /// Without a slash at its end.
    private func folder(of executable: URL) -> String {
        let file = executable.resolvingSymlinksInPath().path
        return file.lastIndex(of: "/").map { String(file[..<$0]) } ?? "."
    }

    /// Runs one command line.
    ///
    /// - Parameter arguments: without the executable's own path.
    /// - Returns: the exit code.
    package func run(_ arguments: [String], in context: CommandContext) async -> Int32 {
        let console = context.console
        guard !CommandOption.isVersionWanted(arguments) else {
            console.print(text: CommandOption.versionLine(name))
            return ExitCode.success
        }
        guard let command = command(of: arguments) else {
            return explain(arguments, on: console)
        }
        let title = command.syntax.command
        do {
            let parsed = try command.syntax.parse(arguments.dropFirst(command.words.count))
            guard !parsed.isHelpWanted else {
                console.print(text: command.syntax.help)
                return ExitCode.success
            }
            for slip in SettingProblem.slips(in: context.environment, among: settings) {
                console.note("\(title): \(slip)")
            }
            return try await ServerWait.reporting(to: { console.interject($0) }) {
                try await command.run(parsed, context)
            }
        } catch let error as UsageError {
            console.note("\(title): \(error)\nTry '\(title) --help'.")
            return ExitCode.usage
        } catch {
            let failure = CommandError(describing: error, rights: Self.rights)
            console.note("\(title): \(failure)")
            return failure.exitCode
        }
    }

    private static let rights =
        "the commands take the rights of the role \(DatabaseRole.operations.name), 'migrate' and "
        + "'grants' those of the schema's owner: see '\(PipelineTool.name) grants'"

    private func command(of arguments: [String]) -> ToolCommand? {
        commands.first { command in
            command.words.elementsEqual(
                arguments.prefix(command.words.count),
                by: { $0 == Substring($1) }
            )
        }
    }

    /// Answers a command line that names no command: with the overview, or with what is near.
    private func explain(_ arguments: [String], on console: Console) -> Int32 {
        guard let first = arguments.first else {
            console.note(overview)
            return ExitCode.usage
        }
        if ["--help", "-h", "help"].contains(first) {
            console.print(text: overview)
            return ExitCode.success
        }
        let family = commands.filter { $0.words.first == Substring(first) }
        guard !family.isEmpty else {
            console.note(commands.map(\.syntax).unknown(first, of: name))
            return ExitCode.usage
        }
        let text = "\(name) \(first) is one of:\n" + family.map(\.syntax).overview
        let second = arguments.dropFirst().first
        if ["--help", "-h"].contains(second) {
            console.print(text: text)
            return ExitCode.success
        }
        if let second, !second.hasPrefix("-") {
            console.note(family.map(\.syntax).unknown(second, of: "\(name) \(first)"))
            return ExitCode.usage
        }
        console.note(text)
        return ExitCode.usage
    }

    private var overview: String {
        let introduction = introduction.map { "\($0)\n" }.joined()
        return "Usage: \(name) COMMAND [OPTION]…\n\n\(introduction)\nCommands:\n"
            + commands.map(\.syntax).overview
            + "\n'\(name) COMMAND --help' shows its options, '\(name) --version' the version.\n\n"
            + ExitCode.help
    }
}

/// One command of a tool: its command line, and what it does.
package struct ToolCommand: Sendable {
    let syntax: CommandSyntax
    /// Returns the exit code; throws a `UsageError`, a `CommandError`, or what a server said.
    let run: @Sendable (CommandArguments, CommandContext) async throws -> Int32

    /// - Parameter syntax: its command begins with the tool's name.
    package init(
        syntax: CommandSyntax,
        run: @escaping @Sendable (CommandArguments, CommandContext) async throws -> Int32
    ) {
        self.syntax = syntax
        self.run = run
    }

    /// The words that name the command, without the tool's: `catalog check`.
    var words: [Substring] {
        syntax.command.split(separator: " ").dropFirst().map { $0 }
    }
}

/// The process of a command, as far as the command needs it.
package struct CommandContext: Sendable {
    package var console: Console
    /// The environment that settings are read from.
    package var environment: [String: String]
    /// The folder of the executables, where `demo` finds the workers.
    package var executables: String

    package init(console: Console, environment: [String: String], executables: String) {
        self.console = console
        self.environment = environment
        self.executables = executables
    }
}

/// The operators' tool.
package enum PipelineTool {
    static let name = "pipeline"

    package static let tool = CommandTool(
        name,
        introduction: [
            "Operates the entitlement pipeline: signed App Store bodies in Kafka become",
            "entitlements in PostgreSQL.",
        ],
        commands: [
            .migrate, .topics, .grants, .catalogCheck, .catalogApply, .linkAdd, .linkRemove,
            .linkList, .linkReapply, .dedupeForget, .grant, .revokeGrant, .explain, .whatsStored,
            .forget,
            .rebuild, .historyArchive, .historyRestore, .recoverOffsets, .recoverFeed,
            .recoverApple, .publish, .run, .status, .reconcile,
        ]
    )
}
