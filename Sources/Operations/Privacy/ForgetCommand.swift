import Settings
import Store

extension ToolCommand {
    /// `pipeline forget`.
    static let forget = ToolCommand(
        syntax: CommandSyntax(
            "\(PipelineTool.name) forget",
            "Removes what says whose purchases these are: the user's links and claims.\n\n"
                + "The purchases pass to whom the other rules give them, or to nobody, within a "
                + "second where a link-worker runs. The accounts are kept: the facts of the "
                + "purchases, the ledger, the history. Where account tokens are user IDs, the "
                + "token is removed from the facts too; what Apple sends afterwards may name the "
                + "user again. It is written down, with a hash of the user's ID.",
            operands: "USER",
            operandCount: 1...1,
            options: [
                CommandOption("reason", argument: "TEXT", "Why. Required."),
                CommandOption("by", argument: "NAME", "Who asks for it. Required."),
                ToolSettings.postgresOption, CommandOption.config, ToolSettings.jsonOption,
            ]
        ),
        run: forget
    )

    private static func forget(
        _ arguments: CommandArguments,
        _ context: CommandContext
    ) async throws -> Int32 {
        let request = ForgottenUserTable.Request(
            userID: arguments.operands[0],
            by: try required("by", in: arguments),
            reason: try required("reason", in: arguments)
        )
        let settings = try ToolSettings.read(arguments, context.environment, .database)
        let forgotten = try await settings.withDatabase { connection in
            try await connection.run(ForgottenUserTable.forget, request)[0]
        }
        if arguments.isSet("json") {
            context.console.print(
                json: "{\"number\":\(forgotten.number),\"links\":\(forgotten.links),"
                    + "\"claims\":\(forgotten.claims),\"tokens\":\(forgotten.tokens)}"
            )
        } else {
            context.console.print(
                "\(Quantity.counted(forgotten.links, "link")) and "
                    + "\(Quantity.counted(forgotten.claims, "claim")) removed, "
                    + "\(Quantity.counted(forgotten.tokens, "token")) removed from facts; written "
                    + "down as number \(forgotten.number)"
            )
        }
        return ExitCode.success
    }
}
