import Settings

/// One command of the tool: its command line, and what it does.
struct PipelineCommand: Sendable {
    let syntax: CommandSyntax
    /// Returns the exit code; throws a `UsageError`, a `CommandError`, or what a server said.
    let run: @Sendable (CommandArguments, CommandContext) async throws -> Int32

    /// The words that name the command, without the tool's: `catalog check`.
    var words: [Substring] {
        syntax.command.split(separator: " ").dropFirst().map { $0 }
    }
}
