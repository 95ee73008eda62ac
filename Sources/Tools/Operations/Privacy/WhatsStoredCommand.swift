import AppStore
import Commands
import JSON
import Settings
import Store

extension ToolCommand {
    static let whatsStored = ToolCommand(
        "whats-stored",
        "Reports what is stored about one user, where, and what 'forget' does with it.\n\n"
            + "'explain USER' shows the same user's entitlements with their reasons.", operands: "USER",
        operandCount: 1...1,
        options: [
            CommandOption(
                "limit", argument: "N", "Maximum number of links, claims and purchases named, each; 100 unless given."),
            .postgres, .config, .json,
        ]
    ) { context in
        let user = Identifier(context.arguments.operands[0])
        let limit = try context.arguments.value("limit", as: .int(1...1_000_000)) ?? 100
        let answer = try await context.withDatabase { connection in
            try await connection.run(SupportAnswers.stored, (user, limit))[0].root
        }
        let isFound = answer["tables"]?.count ?? 0 > 0
        context.console.print(answer: JSONContent(answer), context.arguments)
        if !isFound, !context.isJSON { context.console.print("nothing is stored about \(user) in the tables") }
        return ExitCode.answer(isFound)
    }
}
