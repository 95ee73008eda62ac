import Database
import Foundation
import Kafka
import LocalServers
import Postgres
import Settings

/// The operators' tool: finds the command that was asked for, runs it, and says how it ended.
package enum PipelineTool {
    static let name = "pipeline"

    static let commands: [PipelineCommand] = [
        .demo, .migrate, .topics, .catalogCheck, .catalogApply, .linkAdd, .linkRemove, .linkList,
        .linkJudge, .grant, .revokeGrant, .explain, .rebuild, .publish, .status, .reconcile,
    ]

    /// Runs as the process's main program.
    ///
    /// - Returns: the exit code.
    package static func main() async -> Int32 {
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
    private static func folder(of executable: URL) -> String {
        let file = executable.resolvingSymlinksInPath().path
        return file.lastIndex(of: "/").map { String(file[..<$0]) } ?? "."
    }

    /// Runs one command line.
    ///
    /// - Parameter arguments: without the executable's own path.
    /// - Returns: the exit code.
    package static func run(_ arguments: [String], in context: CommandContext) async -> Int32 {
        let console = context.console
        guard let command = command(of: arguments) else {
            return explain(arguments, on: console)
        }
        let title = command.syntax.command
        do {
            let parsed = try command.syntax.parse(arguments.dropFirst(command.words.count))
            guard !parsed.isHelpWanted else {
                console.print(command.syntax.help, terminator: "")
                return ExitCode.success
            }
            return try await command.run(parsed, context)
        } catch let error as UsageError {
            console.note("\(title): \(error)\nTry '\(title) --help'.")
            return ExitCode.usage
        } catch {
            let failure = CommandError(describing: error)
            console.note("\(title): \(failure)")
            return failure.exitCode
        }
    }

    private static func command(of arguments: [String]) -> PipelineCommand? {
        commands.first { command in
            command.words.elementsEqual(
                arguments.prefix(command.words.count),
                by: { $0 == Substring($1) }
            )
        }
    }

    /// Answers a command line that names no command: with the overview, or with what is near.
    private static func explain(_ arguments: [String], on console: Console) -> Int32 {
        guard let first = arguments.first else {
            console.note(overview)
            return ExitCode.usage
        }
        if ["--help", "-h", "help"].contains(first) {
            console.print(overview)
            return ExitCode.success
        }
        let family = commands.filter { $0.words.first == Substring(first) }
        guard !family.isEmpty else {
            console.note("\(name): there is no command \"\(first)\"\nTry '\(name) --help'.")
            return ExitCode.usage
        }
        let lines = ["\(name) \(first) is one of:"] + summaries(of: family)
        if arguments.dropFirst().first == "--help" {
            console.print(lines.joined(separator: "\n"))
            return ExitCode.success
        }
        console.note(lines.joined(separator: "\n"))
        return ExitCode.usage
    }

    private static var overview: String {
        let lines =
            [
                "Usage: \(name) COMMAND [OPTION]…", "",
                "Operates the entitlement pipeline: signed App Store bodies in Kafka become",
                "entitlements in PostgreSQL.", "", "Commands:",
            ] + summaries(of: commands) + ["", "'\(name) COMMAND --help' shows its options."]
        return lines.joined(separator: "\n")
    }

    private static func summaries(of commands: [PipelineCommand]) -> [String] {
        var table = TextTable([.init(""), .init("")])
        for command in commands {
            let sentence = command.syntax.summary.prefix { $0 != "\n" }
            table.add([command.words.joined(separator: " "), String(sentence)])
        }
        return table.lines(indent: 2)
    }
}

extension CommandError {
    /// What an error means for the operator.
    init(describing error: any Error) {
        switch error {
        case let error as CommandError:
            self = error
        case let error as SettingsError:
            self.init(
                ExitCode.configuration,
                "the settings are not right:\n"
                    + error.problems.map { "  \($0)" }.joined(separator: "\n")
            )
        case let error as KafkaError where error.code == .invalidConfiguration:
            self.init(ExitCode.configuration, error.description)
        case let error as PostgresError where error.sqlState == .undefinedTable:
            self.init(
                ExitCode.configuration,
                "the database has not got the schema: run '\(PipelineTool.name) migrate'"
            )
        case let error as PostgresError where error.fault == .operator:
            self.init(ExitCode.configuration, error.description)
        case is MigrationError:
            self.init(ExitCode.configuration, "\(error)")
        case is KafkaError, is PostgresError, is LocalServerError:
            self.init(ExitCode.unavailable, "\(error)")
        default:
            self.init(ExitCode.software, "\(error)")
        }
    }
}
