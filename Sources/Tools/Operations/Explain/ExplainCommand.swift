import AppStore
import Commands
import Foundation
import JSON
import Postgres
import Settings
import Store

extension ToolCommand {
    static let explain = ToolCommand(
        "explain",
        "Shows what a user may use and why, for support staff.\n\n"
            + "Of every entitlement: the transactions behind it, the rule by which each "
            + "counts, the notification and the raw record that brought it, the owner and the "
            + "rule of ownership. Besides: manual grants, the balance, and every change with "
            + "its cause. --transaction explains one purchase, by the ID of any of its "
            + "transactions, also one without an owner; Apple's server API lists the "
            + "transactions of an order number. --known-at shows only what was known of the user at that instant.",
        operands: "[USER]", operandCount: 0...1,
        options: [
            CommandOption("transaction", argument: "ID", "Explain this purchase instead of a user."), .environment,
            CommandOption("known-at", argument: "DATE", "Show what was known then, such as 2026-03-02T12:00:00Z."),
            CommandOption("at", argument: "DATE", "With --known-at: what held at this instant; now unless given."),
            .postgres, .config, .json,
        ]
    ) { context in
        let environment = try context.environment()
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        let at = try context.arguments.value("at", as: .instant)?.milliseconds
        let knownAt = try context.arguments.value("known-at", as: .instant)
        let transactionID = context.arguments.value("transaction").map { Identifier($0) }
        if at != nil, knownAt == nil { throw UsageError("--at goes with --known-at") }
        if transactionID != nil, knownAt != nil {
            throw UsageError("--known-at is asked of a user, and not of a --transaction")
        }
        guard (transactionID == nil) != context.arguments.operands.isEmpty else {
            throw UsageError("expected either a USER or a --transaction")
        }
        let settings = try context.settings(.database)
        typealias Answer = (lines: [String], json: JSONContent, isFound: Bool)
        let answer = try await settings.withDatabaseClient { client -> Answer in
            if let transactionID {
                let found = try await TransactionExplanation.read(transactionID, environment, client)
                return (found.lines(now: now), found.json(now: now), found.isFound)
            }
            let user = Identifier(context.arguments.operands[0])
            if let knownAt {
                let known = try await KnownState.read(user, environment, at: knownAt, client)
                return (known.lines(at: at ?? now), known.json, !known.rows.isEmpty)
            }
            let explanation = try await UserExplanation.read(user, environment, client)
            return (explanation.lines(now: now), explanation.json(now: now), explanation.isFound)
        }
        context.print(answer.json) { console in answer.lines.forEach { console.print($0) } }
        return ExitCode.answer(answer.isFound)
    }
}
