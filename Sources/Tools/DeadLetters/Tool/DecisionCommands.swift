import Commands
import JSON
package import Postgres
import Settings
import Store

enum ResolveCommand: DecisionCommand {
    static let name = "resolve"
    static let kind = DeadLetterAction.Kind.resolved
    static let effect = "Marks dead letters as resolved: nothing is left to do about them."
}

enum SuppressCommand: DecisionCommand {
    static let name = "suppress"
    static let kind = DeadLetterAction.Kind.suppressed
    static let effect = "Marks dead letters as suppressed: no action is needed."
}

enum ReopenCommand: DecisionCommand {
    static let name = "reopen"
    static let kind = DeadLetterAction.Kind.reopened
    static let effect = "Marks dead letters as open again."
}

/// A decision about dead letters, recorded in their history.
protocol DecisionCommand: DeadLetterCommand {
    static var kind: DeadLetterAction.Kind { get }
    static var effect: String { get }
}

extension DecisionCommand {
    static var role: DatabaseRole { .investigator }

    static var summary: String { effect + " Recorded in the history with who, when and why; nothing is deleted." }
    static var operands: String { "[ID…]" }
    static var operandCount: ClosedRange<Int> { 0...1_000 }
    static var options: [CommandOption] {
        FilterOptions.options + [
            CommandOption("why", argument: "TEXT", "The reason, for the history; required."),
            CommandOption("yes", short: "y", "Do it for more than one letter without asking."),
            ToolContext.auditorOption,
        ]
    }

    static func run(_ context: ToolContext) async throws -> Int32 {
        let why = try context.reason()
        let who = try context.auditor()
        var query = try FilterOptions.query(context.arguments, now: context.now)
        guard query != DeadLetterQuery() || !context.arguments.operands.isEmpty else {
            throw UsageError("name the letters: IDs, or a filter such as --group or --reason")
        }
        let client = try await context.database()
        if !context.arguments.operands.isEmpty {
            query.ids = try await LetterIDs.resolve(context.arguments.operands, on: client)
        }
        let count = try await DeadLetterCounts.count(query, on: client)
        guard count <= 1 || context.arguments.isSet("yes") else {
            context.console.note("\(count) dead letters would be \(kind.rawValue); nothing was done: add --yes")
            return ExitCode.negative
        }
        let (found, changed) = try await DeadLetterActionTable.decide(
            kind, query, who: who, why: why, deadline: .seconds(600), on: client)
        context.console.print(
            ["action": kind.rawValue, "changed": changed, "found": found],
            or: "\(changed) of \(found) dead letters \(kind.rawValue)", context.arguments)
        return ExitCode.found(found)
    }
}

/// The IDs of letters as an auditor types them.
package enum LetterIDs {
    /// - Parameter texts: whole IDs, or unambiguous beginnings of at least six digits.
    /// - Throws: if a text names no letter, or several.
    package static func resolve(_ texts: [String], on client: PostgresClient) async throws -> Set<String> {
        var ids: Set<String> = []
        let known = Set(try await DeadLetterTable.get(Set(texts), on: client).map(\.id))
        for text in texts {
            if known.contains(text) {
                ids.insert(text)
                continue
            }
            let beginning = text.lowercased()
            let found = try await DeadLetterTable.search(text, limit: 20, on: client).filter {
                beginning.count >= 6 && $0.id.hasPrefix(beginning)
            }
            guard let only = found.first, found.count == 1 else {
                throw CommandError(
                    ExitCode.negative,
                    found.isEmpty ? "no dead letter \(text)" : "several dead letters begin with \(text)")
            }
            ids.insert(only.id)
        }
        return ids
    }
}
