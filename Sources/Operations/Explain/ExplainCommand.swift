import AppStore
import Store
import Foundation
import JSON
import Postgres
import Settings

extension ToolCommand {
    /// `pipeline explain`.
    static let explain = ToolCommand(
        syntax: CommandSyntax(
            "\(PipelineTool.name) explain",
            "Shows what a user may use and why, for support staff.\n\n"
                + "Of every entitlement: the transactions behind it, the rule by which each "
                + "counts, the notification and the raw record that brought it, the owner and the "
                + "rule of ownership. Besides: manual grants, the balance, and every change with "
                + "its cause. --transaction explains one purchase, by the ID of any of its "
                + "transactions, also one without an owner; Apple's server API lists the "
                + "transactions of an order number. --known-at shows only what was known of the "
                + "user at that instant.",
            operands: "[USER]",
            operandCount: 0...1,
            options: [
                CommandOption(
                    "transaction",
                    argument: "ID",
                    "Explain this purchase instead of a user."
                ),
                environmentOption,
                CommandOption(
                    "known-at",
                    argument: "DATE",
                    "Show what was known then, such as 2026-03-02T12:00:00Z."
                ),
                CommandOption(
                    "at",
                    argument: "DATE",
                    "With --known-at: what held at this instant; now unless given."
                ),
                ToolSettings.postgresOption, CommandOption.config, CommandOption.json,
            ]
        ),
        run: explain
    )

    private static func explain(
        _ arguments: CommandArguments,
        _ context: CommandContext
    ) async throws -> Int32 {
        let environment = try environment(arguments)
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        let at = try arguments.value("at", as: .instant)?.milliseconds
        let knownAt = try arguments.value("known-at", as: .instant)
        let transactionID = arguments.value("transaction").map { Identifier($0) }
        if at != nil, knownAt == nil {
            throw UsageError("--at goes with --known-at")
        }
        if transactionID != nil, knownAt != nil {
            throw UsageError("--known-at is asked of a user, and not of a --transaction")
        }
        guard (transactionID == nil) != arguments.operands.isEmpty else {
            throw UsageError("expected either a USER or a --transaction")
        }
        let settings = try ToolSettings.read(arguments, context.environment, .database)
        typealias Answer = (lines: [String], json: JSONContent, isFound: Bool)
        let answer = try await settings.withDatabaseClient { client -> Answer in
            if let transactionID {
                let found = try await TransactionExplanation.read(
                    transactionID,
                    environment,
                    client
                )
                return (found.lines(now: now), found.json(now: now), found.isFound)
            }
            let user = Identifier(arguments.operands[0])
            if let knownAt {
                let known = try await KnownState.read(user, environment, at: knownAt, client)
                return (known.lines(at: at ?? now), known.json, true)
            }
            let explanation = try await UserExplanation.read(user, environment, client)
            return (explanation.lines(now: now), explanation.json(now: now), true)
        }
        if arguments.isSet("json") {
            context.console.print(json: answer.json)
        } else {
            answer.lines.forEach { context.console.print($0) }
        }
        return answer.isFound ? ExitCode.success : ExitCode.negative
    }
}
