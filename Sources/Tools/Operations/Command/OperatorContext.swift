import Commands
import JSON
import Postgres
import Settings
import Store

/// The command line of an operator, and the process that performs it.
struct OperatorContext: Sendable {
    let arguments: CommandArguments
    let process: CommandContext

    var console: Console { process.console }
    var isJSON: Bool { arguments.isSet(CommandOption.json.long) }

    /// Reads the environment and the file, with the options laid over them.
    func settings(_ needs: ToolSettings.Needs) throws -> SettingsValues {
        try ToolSettings.schema(needs).read(
            arguments, environment: process.environment, overrides: DatabaseSettings.overrides)
    }

    /// Lends a connection to the database of the settings, and closes it afterwards.
    func withDatabase<T>(_ body: (PostgresConnection) async throws -> T) async throws -> T {
        try await settings(.database).withDatabase(body)
    }

    /// The argument of an option that must be there and not be empty.
    func required(_ option: String) throws(UsageError) -> String {
        guard let value = arguments.value(option), !value.isEmpty else { throw UsageError("--\(option) is required") }
        return value
    }

    /// Prints a result as JSON with `--json`, else as one line.
    func print(_ json: JSONContent, or line: String) { console.print(json, or: line, arguments) }

    /// Prints a result as JSON with `--json`, else by `show`.
    func print(_ json: JSONContent, or show: (Console) -> Void) { isJSON ? console.print(json: json) : show(console) }
}

extension ToolCommand {
    /// - Parameters:
    ///   - name: without the tool's.
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
