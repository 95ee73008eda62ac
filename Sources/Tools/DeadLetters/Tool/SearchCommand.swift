import Commands
import Settings
import Store

enum SearchCommand: DeadLetterCommand {
    static let name = "search"
    static let summary =
        "Finds dead letters by any identifier: a transaction, bundle or product ID, a worker, "
        + "a group, the position of the source record, of its body or of the letter, or "
        + "the beginning of a letter's ID or (six digits) of a certificate's fingerprint."
    static let operands = "TEXT"
    static let operandCount = 1...1
    static let options: [CommandOption] = [ListCommand.limitOption, .wide]

    static func run(_ context: ToolContext) async throws -> Int32 {
        let text = context.arguments.operands[0]
        guard !text.isEmpty else { throw UsageError("expected an identifier, found nothing") }
        let limit = try ListCommand.limit(context.arguments)
        let index = try await context.database()
        let standing = try await context.standing(of: index)
        let rows = try await DeadLetterTable.search(text, limit: limit, on: index)
        ListCommand.print(rows, context)
        let total = rows.count < limit ? Int64(rows.count) : try await DeadLetterTable.searchTotal(text, on: index)
        context.console.note("\(rows.count) of \(total) dead letters, \(standing.text)")
        return ExitCode.found(rows.count)
    }
}
