import Commands
import JSON
import Kafka
import Records
import Settings
import Store

enum TailCommand: DeadLetterCommand {
    static let name = "tail"
    static let summary =
        "Shows the newest dead letters, the newest last; with --follow also new ones as they "
        + "come to the topic, until it is interrupted."
    static let options: [CommandOption] =
        FilterOptions.options + [
            CommandOption("limit", short: "n", argument: "N", "How many to begin with; 10 by default, 0 for none."),
            CommandOption("follow", short: "f", "Wait for new ones."), ToolContext.fromTopic,
        ]

    static func run(_ context: ToolContext) async throws -> Int32 {
        let query = try FilterOptions.query(context.arguments, now: context.now)
        guard query.states.isEmpty else { throw UsageError("--state needs the index: use 'list'") }
        let limit = try context.arguments.value("limit", as: .int(0...100_000)) ?? 10
        // The ends are read first, so that `--follow` shows letters that arrive during the search.
        let ends = try await context.topic.watermarks().mapValues(\.high)
        let rows = try await newest(query, limit: limit, context)
        for row in rows.reversed() { print(row, context) }
        guard context.arguments.isSet("follow") else { return ExitCode.found(rows.count) }
        do {
            try await Interruption.cancelling {
                try await context.topic.follow(from: ends) { record in
                    guard let row = DeadLetterRow(record), query.matches(row) else { return }
                    print(row, context)
                }
            }
        } catch is CancellationError {}
        return ExitCode.success
    }

    private static func newest(_ query: DeadLetterQuery, limit: Int, _ context: ToolContext) async throws
        -> [DeadLetterRow]
    {
        guard limit > 0 else { return [] }
        if let index = try await context.index() {
            return try await DeadLetterTable.page(query, limit: limit, on: index)
        }
        var fold = DeadLetterFold<Bool>()
        var newest = NewestLetters(limit: limit)
        let redactions = try await context.redactions()
        let summary = try await context.readTopic(since: query.since) { letter, record in
            var row = DeadLetterRow(letter, record)
            row.checkRedaction(redactions)
            let matches = query.matches(row)
            guard case .counts(let replacing) = fold.add(row, matches) else { return }
            if replacing == true { newest.remove(letter.id) }
            if matches { newest.insert(row) }
        }
        context.console.note(fold.notes(summary))
        return newest.sorted
    }

    private static func print(_ row: DeadLetterRow, _ context: ToolContext) {
        let columns = DeadLetterRow.columns(topic: context.topic.name)
        let line = columns.cells(row).joined(separator: "  ")
        context.console.print(JSONContent(row, columns), or: line, context.arguments)
    }
}
