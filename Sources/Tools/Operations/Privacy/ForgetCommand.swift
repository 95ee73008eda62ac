import AppStore
import Commands
import JSON
import Settings
import Store

extension ToolCommand {
    static let forget = ToolCommand(
        "forget",
        "Removes what says whose purchases these are: the user's links and claims.\n\n"
            + "The purchases pass to the user of the next rule, or to nobody, within a "
            + "second where a link-worker runs. The accounts are kept: the facts of the "
            + "purchases, the ledger, the history. Where account tokens are user IDs, the "
            + "token is removed from the facts too; what Apple sends afterwards may name the "
            + "user again. Once the user holds nothing, a tombstone removes the state in "
            + "entitlements.current. It is written down, with a hash of the user's ID.\n\n"
            + "The history names the user as before: changes by ID, contents as Apple signed "
            + "them by token. So do the files of archived history.", operands: "USER", operandCount: 1...1,
        options: [
            CommandOption("reason", argument: "TEXT", "Why. Required."),
            CommandOption("by", argument: "NAME", "Who asks for it. Required."), .postgres, .config, .json,
        ]
    ) { context in
        let request: ForgottenUserTable.Request = (
            userID: Identifier(context.arguments.operands[0]), by: try context.required("by"),
            reason: try context.required("reason")
        )
        let (isKnown, forgotten) = try await context.withDatabase { connection in
            let isKnown = try await ForgottenUserTable.isKnown(request.userID, on: connection)
            return (isKnown, try await connection.run(ForgottenUserTable.forget, request)[0])
        }
        let json: JSONContent = [
            "number": forgotten.number, "links": forgotten.links, "claims": forgotten.claims,
            "tokens": forgotten.tokens, "is_known": isKnown,
        ]
        context.print(json) { console in
            if !isKnown { console.print("nothing was known of \(request.userID)") }
            console.print(
                "\(Quantity.counted(forgotten.links, "link")) and "
                    + "\(Quantity.counted(forgotten.claims, "claim")) removed, "
                    + "\(Quantity.counted(forgotten.tokens, "token")) removed from facts; written "
                    + "down as number \(forgotten.number)")
        }
        return ExitCode.answer(isKnown)
    }
}
