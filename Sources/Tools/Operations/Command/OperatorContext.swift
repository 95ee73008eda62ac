import Commands
import JSON
import Postgres
import Settings
import Store

/// The arguments of an operator's command, and the process that runs it.
struct OperatorContext: Sendable {
    let arguments: CommandArguments
    let process: CommandContext

    var console: Console { process.console }
    var isJSON: Bool { arguments.isSet(CommandOption.json.long) }

    /// Reads the settings from the options, the environment and the file, in this precedence.
    func settings(_ needs: ToolSettings.Needs) throws -> SettingsValues {
        try ToolSettings.schema(needs).read(
            arguments, environment: process.environment, overrides: DatabaseSettings.overrides)
    }

    /// Runs `body` with a connection to the configured database, and closes it afterwards.
    func withDatabase<T>(_ body: (PostgresConnection) async throws -> T) async throws -> T {
        try await settings(.database).withDatabase(body)
    }

    /// Returns the argument of an option that must be given and not be empty.
    func required(_ option: String) throws(UsageError) -> String {
        guard let value = arguments.value(option), !value.isEmpty else { throw UsageError("--\(option) is required") }
        return value
    }

    /// Returns the exit code of a list, and prints a note if it is empty.
    func found(_ count: Int, _ noun: String) -> Int32 {
        if count == 0 { console.note("no \(noun) found") }
        return ExitCode.found(count)
    }

    /// Prints a result as JSON with `--json`, otherwise as one line.
    func print(_ json: JSONContent, or line: String) { console.print(json, or: line, arguments) }

    /// Prints a result as JSON with `--json`, otherwise by calling `show`.
    func print(_ json: JSONContent, or show: (Console) -> Void) { isJSON ? console.print(json: json) : show(console) }
}

extension ToolCommand {
    /// - Parameters:
    ///   - name: the command's name without the tool's name.
    ///   - run: returns the exit code.
    init(
        _ name: String, _ summary: String, operands: String = "", operandCount: ClosedRange<Int> = 0...0,
        options: [CommandOption], run: @escaping @Sendable (OperatorContext) async throws -> Int32
    ) {
        let syntax = CommandSyntax(
            "\(PipelineTool.name) \(name)", summary, operands: operands, operandCount: operandCount, options: options)
        self.init(syntax: syntax) { arguments, process in
            try await run(OperatorContext(arguments: arguments, process: process))
        }
    }
}
