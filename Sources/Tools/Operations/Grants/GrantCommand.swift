import AppStore
import Commands
import JSON
import Platform
import Postgres
import Settings
import Store

extension ToolCommand {
    static let grant = ToolCommand(
        "grant",
        "Grants a user an entitlement that was not bought.\n\n"
            + "It takes effect at once. Grants have a table of their own, and are in the same "
            + "history and feed as purchases. Prints the grant's number.", operands: "USER KEY", operandCount: 2...2,
        options: [
            CommandOption(
                "until", argument: "DATE", "The end, such as 2026-12-31 or 2026-12-31T12:00:00Z; or forever. Required."),
            CommandOption("reason", argument: "TEXT", "Why, for the history. Required."),
            CommandOption("by", argument: "NAME", "Who grants it. Required."),
            CommandOption("reference", argument: "NAME", "A ticket, say: the same one again grants nothing more."),
            CommandOption("new", "Grants a KEY that no catalog, grant or purchase names."), .environment, .postgres,
            .config, .json,
        ]
    ) { context in
        let until = try context.required("until")
        let end = until == "forever" ? nil : try context.arguments.value("until", as: .instant)
        if let end, end.milliseconds <= WallClock.milliseconds {
            throw UsageError("--until: expected a date to come, found \"\(until)\"")
        }
        let grant: GrantTable.New = (
            userID: try entering(context.arguments.operands[0], as: "USER"),
            key: try entering(context.arguments.operands[1], as: "KEY"), until: end.map { StoredTime($0) },
            reason: try context.required("reason"), grantedBy: try context.required("by"),
            environment: try context.environment(),
            reference: try context.arguments.value("reference").map { try entering($0, as: "--reference") }
        )
        let isNew = context.arguments.isSet("new")
        let number = try await context.withDatabase { connection in
            let isKnown = try await connection.run(GrantTable.isKnown, grant.key)[0]
            if !isKnown, !isNew {
                let known = try await connection.run(GrantTable.knownKeys).map(\.text)
                throw UsageError(unknown(grant.key, among: known))
            }
            return try await connection.run(GrantTable.add, grant)[0]
        }
        context.print(["grant_id": number], or: "\(number)")
        return ExitCode.success
    }

    private static func unknown(_ key: Identifier, among known: [String]) -> String {
        let nearest = Spelling.nearest(to: key.text, among: known).prefix(3).joined(separator: ", ")
        return "KEY: no catalog, grant or purchase names \"\(key)\""
            + (nearest.isEmpty ? "" : ", the nearest known are \(nearest)") + "; --new grants it all the same"
    }

    static let revokeGrant = ToolCommand(
        "revoke-grant", "Ends a grant now; the time until now stays in the history.", operands: "NUMBER",
        operandCount: 1...1,
        options: [
            CommandOption("reason", argument: "TEXT", "Why, for the history. Required."),
            CommandOption("by", argument: "NAME", "Who ends it. Required."), .postgres, .config, .json,
        ]
    ) { context in
        let operand = context.arguments.operands[0]
        guard let number = Int64(operand), number > 0 else {
            throw UsageError("expected the number of a grant, found \"\(operand)\"")
        }
        let revocation: GrantTable.Revocation = (
            number: number, reason: try context.required("reason"), revokedBy: try context.required("by")
        )
        let isEnded = try await context.withDatabase { connection in
            try await connection.run(GrantTable.revoke, revocation)[0]
        }
        let line = isEnded ? "grant \(number) is revoked" : "there is no grant \(number), or it was revoked before"
        context.print(["grant_id": number, "is_revoked": isEnded], or: line)
        return ExitCode.answer(isEnded)
    }

    static func entering(_ text: String, as operand: String) throws(UsageError) -> Identifier {
        guard let identifier = Identifier(entering: text) else {
            throw UsageError("\(operand): expected \(Identifier.entryRule)")
        }
        return identifier
    }
}

extension CommandOption {
    static let environment = CommandOption(
        "environment", argument: "NAME", choices: AppleEnvironment.allCases.map(\.rawValue), "Production unless given.")
}

extension OperatorContext {
    /// The environment that is named, or Production; a misspelt one would find nothing.
    func environment() throws(UsageError) -> String {
        let named: AppleEnvironment? = try arguments.value("environment", as: .choice)
        return (named ?? .production).rawValue
    }
}
