import Commands
import JSON
import Settings
import Store

enum ReplaysCommand: DeadLetterCommand {
    static let name = "replays"
    static let summary = "Lists replays, the newest first; with a number, that one and its records."
    static let operands = "[N]"
    static let operandCount = 0...1
    static let options: [CommandOption] = [
        CommandOption(
            "outcome", argument: "OUTCOME", isRepeatable: true,
            "Of one replay, only records with this outcome: accepted, refused, unsent or unknown."),
        CommandOption("limit", short: "n", argument: "N", "Maximum number of replays or records; 50 by default."),
        ReplayOptions.groupPrefix, .wide,
    ]

    static func run(_ context: ToolContext) async throws -> Int32 {
        let limit = try context.arguments.value("limit", as: .int(1...1_000_000)) ?? 50
        let number = try context.arguments.operands.first.map { operand throws(UsageError) in
            guard let number = Int32(operand), number > 0 else {
                throw UsageError("expected the number of a replay, found \"\(operand)\"")
            }
            return Int64(number)
        }
        let replays = try context.replays(on: try await context.database())
        if let number { return try await show(number, of: replays, limit: limit, context) }
        let rows = try await replays.newest(limit: limit)
        context.console.print(rows, ReplayRow.columns, context.arguments) { $0.counts.refused > 0 }
        context.console.note("\(rows.count) replays")
        return ExitCode.found(rows.count)
    }

    private static func show(_ number: Int64, of replays: Replays, limit: Int, _ context: ToolContext) async throws
        -> Int32
    {
        guard let row = try await replays.replay(number) else {
            throw CommandError(ExitCode.negative, "there is no replay \(number)")
        }
        let outcomes: [ReplayOutcome] = try context.arguments.values("outcome", as: .choice)
        var records: [ReplayRecordRow] = []
        var after: Int64 = -1
        while records.count < limit {
            let page = try await replays.records(of: number, after: after, limit: pageMax)
            let wanted = page.filter { record in outcomes.isEmpty || record.outcome.map(outcomes.contains) ?? false }
            records += wanted.prefix(limit - records.count)
            guard page.count == pageMax, let last = page.last else { break }
            after = last.ordinal
        }
        if context.isJSON {
            let list = records.map { JSONContent($0, ReplayRecordRow.columns) }
            context.console.print(json: JSONContent(row, ReplayRow.columns) + ["records": list])
        } else {
            context.console.print(ReplayText.replay(row, records), isWide: context.isWide)
        }
        return ExitCode.success
    }

    private static let pageMax = 1_000
}
