import Platform
package import Settings

/// A program of one or more commands: finds the requested one, runs it, and reports its result.
package struct CommandTool: Sendable {
    private let name: String
    /// The tool's purpose, for the overview of its commands.
    private let introduction: [String]
    /// Further text for the overview, below the commands.
    private let remarks: [String]
    package let commands: [ToolCommand]
    /// The settings that the environment may contain; variables that resemble one cause a warning.
    private let settings: [SettingDeclaration]
    /// Text that names the role whose rights the commands need in PostgreSQL.
    private let rights: String

    /// - Parameter commands: the commands; one without a name runs if no other is named.
    package init(
        _ name: String, introduction: [String] = [], remarks: [String] = [], settings: [SettingDeclaration],
        rights: String = "", commands: [ToolCommand]
    ) {
        self.name = name
        self.introduction = introduction
        self.remarks = remarks
        self.settings = settings
        self.rights = rights
        let completion = ToolCommand.completion(name, of: commands.map(\.syntax))
        self.commands = commands + [completion]
    }

    /// Runs the command line of this process.
    ///
    /// - Returns: the exit code.
    package func main() async -> Int32 {
        let executable = ProcessEnvironment.executable ?? CommandLine.arguments[0]
        let slash = executable.lastIndex(of: "/")
        return await run(
            Array(CommandLine.arguments.dropFirst()),
            in: CommandContext(
                console: .standard, environment: ProcessEnvironment.variables,
                executables: slash.map { String(executable[..<$0]) } ?? "."))
    }

    /// Runs one command line.
    ///
    /// - Parameter arguments: the arguments without the executable's path.
    /// - Returns: the exit code.
    package func run(_ arguments: [String], in context: CommandContext) async -> Int32 {
        let console = context.console
        guard !CommandOption.isVersionWanted(arguments) else {
            console.print(text: CommandOption.versionLine(name))
            return ExitCode.success
        }
        guard let command = command(of: arguments) else { return explain(arguments, on: console) }
        let title = command.syntax.command
        do {
            let parsed = try command.syntax.parse(arguments.dropFirst(command.syntax.nameWords.count))
            guard !parsed.isHelpWanted else {
                console.print(text: command.syntax.help)
                return ExitCode.success
            }
            let known = settings + command.settings
            let warnings =
                SettingProblem.slips(in: context.environment, among: known)
                + SettingProblem.exposures(among: known, parsed, environment: context.environment)
            for warning in warnings { console.note("\(title): \(warning)") }
            return try await ServerWait.reporting(to: { console.interject($0) }) {
                try await command.run(parsed, context)
            }
        } catch let error as UsageError {
            console.note("\(title): \(error)\nTry '\(title) --help'.")
            return ExitCode.usage
        } catch {
            let failure = CommandError(describing: error, rights: command.rights ?? rights)
            console.note("\(title): \(failure)")
            return failure.exitCode
        }
    }

    private func command(of arguments: [String]) -> ToolCommand? {
        let named = commands.filter { command in
            let words = command.syntax.nameWords
            return words.elementsEqual(arguments.prefix(words.count))
        }
        return named.max { $0.syntax.nameWords.count < $1.syntax.nameWords.count }
    }

    /// Prints the overview, or a suggestion, for a command line that names no command.
    private func explain(_ arguments: [String], on console: Console) -> Int32 {
        guard let first = arguments.first else {
            console.note(overview)
            return ExitCode.usage
        }
        if ["--help", "-h", "help"].contains(first) {
            console.print(text: overview)
            return ExitCode.success
        }
        let family = commands.map(\.syntax).filter { $0.nameWords.first == first }
        guard !family.isEmpty else {
            console.note(commands.map(\.syntax).unknown(first, of: name))
            return ExitCode.usage
        }
        let text = "\(name) \(first) is one of:\n" + family.overview
        let second = arguments.dropFirst().first
        if ["--help", "-h"].contains(second) {
            console.print(text: text)
            return ExitCode.success
        }
        if let second, !second.hasPrefix("-") {
            console.note(family.unknown(second, of: "\(name) \(first)"))
            return ExitCode.usage
        }
        console.note(text)
        return ExitCode.usage
    }

    private var overview: String {
        let introduction = introduction.map { "\($0)\n" }.joined()
        let remarks = remarks.map { "\($0)\n" }.joined()
        return "Usage: \(name) COMMAND [OPTION]…\n\n\(introduction)\nCommands:\n" + commands.map(\.syntax).overview
            + "\n\(remarks)'\(name) COMMAND --help' shows its options, '\(name) --version' the version.\n\n"
            + ExitCode.help
    }
}

/// A command of a tool: its command line, and its action.
package struct ToolCommand: Sendable {
    package typealias Run = @Sendable (CommandArguments, CommandContext) async throws -> Int32

    package let syntax: CommandSyntax
    /// The settings that only this command reads.
    let settings: [SettingDeclaration]
    /// Text that names the role whose rights the command needs.
    ///
    /// `nil` for the tool's text.
    let rights: String?
    let run: Run

    /// - Parameters:
    ///   - syntax: the syntax; its command begins with the tool's name.
    ///   - run: returns the exit code; throws a `UsageError`, a `CommandError`, or the error of a server.
    package init(syntax: CommandSyntax, settings: [SettingDeclaration] = [], rights: String? = nil, run: @escaping Run)
    {
        self.syntax = syntax
        self.settings = settings
        self.rights = rights
        self.run = run
    }
}

/// The parts of the process that a command needs.
package struct CommandContext: Sendable {
    package var console: Console
    /// The environment from which settings are read.
    package var environment: [String: String]
    /// The folder of the executables, where `demo` finds the workers.
    package var executables: String

    package init(console: Console, environment: [String: String], executables: String = "/nowhere") {
        self.console = console
        self.environment = environment
        self.executables = executables
    }
}

extension ExitCode {
    /// Returns the code of a command whose answer is yes or no.
    package static func answer(_ isYes: Bool) -> Int32 { isYes ? success : negative }

    /// Returns the code of a command that shows, changes or removes `count` objects.
    ///
    /// An object that is already in the requested state counts: an existing link, a catalog in
    /// force, an applied migration.
    package static func found(_ count: some BinaryInteger) -> Int32 { answer(count > 0) }

    /// The exit codes as a table for the help.
    package static let help =
        "Exit codes:\n" + TextLayout.columns(meanings.map { (left: "\($0.code)", right: $0.meaning) })
}
