import AppStore
import JSON
import Platform
import Postgres
import Settings
import Store

extension ToolCommand {
    /// `pipeline grant`.
    static let grant = ToolCommand(
        syntax: CommandSyntax(
            "\(PipelineTool.name) grant",
            "Grants a user an entitlement that was not bought.\n\n"
                + "It takes effect at once. Grants have a table of their own, and are in the same "
                + "history and feed as purchases. Prints the grant's number.",
            operands: "USER KEY",
            operandCount: 2...2,
            options: [
                CommandOption(
                    "until",
                    argument: "DATE",
                    "The end, such as 2026-12-31 or 2026-12-31T12:00:00Z; or forever. Required."
                ),
                CommandOption("reason", argument: "TEXT", "Why, for the history. Required."),
                CommandOption("by", argument: "NAME", "Who grants it. Required."),
                environmentOption, ToolSettings.postgresOption, CommandOption.config,
                CommandOption.json,
            ]
        ),
        run: grant
    )

    /// `pipeline revoke-grant`.
    static let revokeGrant = ToolCommand(
        syntax: CommandSyntax(
            "\(PipelineTool.name) revoke-grant",
            "Ends a grant now; the time until now stays in the history.",
            operands: "NUMBER",
            operandCount: 1...1,
            options: [
                CommandOption("reason", argument: "TEXT", "Why, for the history. Required."),
                CommandOption("by", argument: "NAME", "Who ends it. Required."),
                ToolSettings.postgresOption, CommandOption.config, CommandOption.json,
            ]
        ),
        run: revokeGrant
    )

    static let environmentOption = CommandOption(
        "environment",
        argument: "NAME",
        choices: AppleEnvironment.allCases.map(\.rawValue),
        "Production unless given."
    )

    /// The environment that is named, or Production; a misspelt one would find nothing.
    static func environment(_ arguments: CommandArguments) throws(UsageError) -> String {
        let named: AppleEnvironment? = try arguments.value("environment", as: .choice)
        return (named ?? .production).rawValue
    }

    private static func grant(
        _ arguments: CommandArguments,
        _ context: CommandContext
    ) async throws -> Int32 {
        let until = try required("until", in: arguments)
        let end = until == "forever" ? nil : try arguments.value("until", as: .instant)
        if let end, end.milliseconds <= WallClock.milliseconds {
            throw UsageError("--until: expected a date to come, found \"\(until)\"")
        }
        let grant: GrantTable.New = (
            userID: try entering(arguments.operands[0], as: "USER"),
            key: try entering(arguments.operands[1], as: "KEY"),
            until: end.map { StoredTime($0) },
            reason: try required("reason", in: arguments),
            grantedBy: try required("by", in: arguments),
            environment: try environment(arguments)
        )
        let settings = try ToolSettings.read(arguments, context.environment, .database)
        let number = try await settings.withDatabase { connection in
            try await connection.run(GrantTable.add, grant)[0]
        }
        context.console.print(["grant_id": number], or: "\(number)", arguments)
        return ExitCode.success
    }

    private static func entering(
        _ text: String,
        as operand: String
    ) throws(UsageError) -> Identifier {
        guard let identifier = Identifier(entering: text) else {
            throw UsageError("\(operand): expected \(Identifier.entryRule)")
        }
        return identifier
    }

    private static func revokeGrant(
        _ arguments: CommandArguments,
        _ context: CommandContext
    ) async throws -> Int32 {
        guard let number = Int64(arguments.operands[0]), number > 0 else {
            throw UsageError("expected the number of a grant, found \"\(arguments.operands[0])\"")
        }
        let revocation: GrantTable.Revocation = (
            number: number,
            reason: try required("reason", in: arguments),
            revokedBy: try required("by", in: arguments)
        )
        let settings = try ToolSettings.read(arguments, context.environment, .database)
        let isEnded = try await settings.withDatabase { connection in
            try await connection.run(GrantTable.revoke, revocation)[0]
        }
        let line =
            isEnded
            ? "grant \(number) is revoked"
            : "there is no grant \(number), or it was revoked before"
        context.console.print(["grant_id": number, "is_revoked": isEnded], or: line, arguments)
        return isEnded ? ExitCode.success : ExitCode.negative
    }

    /// An option that has to be there and not be empty.
    static func required(
        _ option: String,
        in arguments: CommandArguments
    ) throws(UsageError) -> String {
        guard let value = arguments.value(option), !value.isEmpty else {
            throw UsageError("--\(option) is required")
        }
        return value
    }
}
