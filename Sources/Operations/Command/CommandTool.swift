import Foundation
import Settings

/// A program of one or more commands: finds the one that was asked for, runs it, and reports how it
/// ended.
package struct CommandTool: Sendable {
    private let name: String
    /// What the tool does, for the overview of its commands.
    private let introduction: [String]
    private let commands: [ToolCommand]

    package init(_ name: String, introduction: [String] = [], commands: [ToolCommand]) {
        self.name = name
        self.introduction = introduction
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
            console.note("\(name): there is no command \"\(first)\"\nTry '\(name) --help'.")
            return ExitCode.usage
        }
        let lines = ["\(name) \(first) is one of:"] + summaries(of: family)
        if arguments.dropFirst().first == "--help" {
            console.print(text: lines.joined(separator: "\n"))
            return ExitCode.success
        }
        console.note(lines.joined(separator: "\n"))
        return ExitCode.usage
    }

    private var overview: String {
        let lines =
            ["Usage: \(name) COMMAND [OPTION]…", ""] + introduction + ["", "Commands:"]
            + summaries(of: commands) + ["", "'\(name) COMMAND --help' shows its options."]
        return lines.joined(separator: "\n")
    }

    private func summaries(of commands: [ToolCommand]) -> [String] {
        var table = TextTable([.init(""), .init("")])
        for command in commands {
            let sentence = command.syntax.summary.prefix { $0 != "\n" }
            table.add([command.words.joined(separator: " "), String(sentence)])
        }
        return table.lines(indent: 2)
    }
}
