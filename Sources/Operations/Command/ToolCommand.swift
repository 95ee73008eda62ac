package import Settings

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
