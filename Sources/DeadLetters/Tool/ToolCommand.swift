import Settings

/// One of the tool's commands.
protocol ToolCommand {
    static var name: String { get }
    static var syntax: CommandSyntax { get }

    /// Performs the command and returns its exit code.
    static func run(_ context: ToolContext) async throws -> Int32
}

extension ToolCommand {
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
            options: options + ToolSettings.options
                + [CommandOption("json", short: "j", "Print JSON instead of text.")]
        )
    }
}
