import Database
import Foundation
import Postgres
import Settings

extension PipelineCommand {
    /// `pipeline explain`.
    static let explain = PipelineCommand(
        syntax: CommandSyntax(
            "\(PipelineTool.name) explain",
            "Says what a user may use and why, for support staff.\n\n"
                + "Every entitlement with the transactions behind it, the rule by which each of "
                + "them counts, the notification and the raw record that brought it, who is the "
                + "owner by which rule, manual grants, the balance, and every change with its "
                + "cause. With --known-at: only what was known of the user at that instant.",
            operands: "USER",
            operandCount: 1...1,
            options: [
                environmentOption,
                CommandOption(
                    "known-at",
                    argument: "DATE",
                    "Go by what was known then, such as 2026-03-02T12:00:00Z."
                ),
                CommandOption(
                    "at",
                    argument: "DATE",
                    "With --known-at: what held at this instant; now unless given."
                ),
                ToolSettings.postgresOption, ToolSettings.configOption, ToolSettings.jsonOption,
            ]
        ),
        run: explain
    )

    private static func explain(
        _ arguments: CommandArguments,
        _ context: CommandContext
    ) async throws -> Int32 {
        let userID = arguments.operands[0]
        let environment = arguments.value("environment") ?? "Production"
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        let at = try arguments.value("at").map { text throws(UsageError) in
            try Instant.parse(text, option: "at")
        }
        let knownAt = try arguments.value("known-at").map { text throws(UsageError) in
            try Instant.parse(text, option: "known-at")
        }
        if at != nil, knownAt == nil {
            throw UsageError("--at goes with --known-at")
        }
        let settings = try ToolSettings.read(arguments, context.environment, .database)
        let client = DatabaseSettings.client(settings, applicationName: PipelineTool.name)
        let lines: [String]
        do {
            if let knownAt {
                let known = try await KnownState.read(userID, environment, knownAt, client)
                lines = arguments.isSet("json") ? [known.json] : known.lines(at: at ?? now)
            } else {
                let user = try await UserExplanation.read(userID, environment, client)
                lines = arguments.isSet("json") ? [user.json(now: now)] : user.lines(now: now)
            }
        } catch {
            await client.close()
            throw error
        }
        await client.close()
        lines.forEach { context.console.print($0) }
        return ExitCode.success
    }
}
