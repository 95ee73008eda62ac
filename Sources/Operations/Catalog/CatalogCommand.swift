import Settings

extension PipelineCommand {
    /// `pipeline catalog check`.
    static let catalogCheck = PipelineCommand(
        syntax: CommandSyntax(
            "\(PipelineTool.name) catalog check",
            "Says whether a product catalog can be used, and names all that is wrong.\n\n"
                + "Exit code 65 when it cannot.",
            operands: "FILE",
            operandCount: 1...1
        ),
        run: { arguments, context in
            let file = try CatalogFile(path: arguments.operands[0])
            context.console.print(file.summary)
            return ExitCode.success
        }
    )

    /// `pipeline catalog apply`.
    static let catalogApply = PipelineCommand(
        syntax: CommandSyntax(
            "\(PipelineTool.name) catalog apply",
            "Makes a product catalog the one that holds, after checking it.\n\n"
                + "The workers take it up by themselves. The same catalog once more changes "
                + "nothing; former versions stay in catalog_versions.",
            operands: "FILE",
            operandCount: 1...1,
            options: [ToolSettings.postgresOption, ToolSettings.configOption]
        ),
        run: runApply
    )

    private static func runApply(
        _ arguments: CommandArguments,
        _ context: CommandContext
    ) async throws -> Int32 {
        let settings = try ToolSettings.read(arguments, context.environment, .database)
        let file = try CatalogFile(path: arguments.operands[0])
        let outcome = try await settings.withDatabase { connection in
            try await CatalogApplication.apply(file.bytes, on: connection)
        }
        let state = outcome.isNew ? "applied as" : "holds already as"
        context.console.print("\(file.summary); \(state) version \(outcome.version)")
        return ExitCode.success
    }
}
