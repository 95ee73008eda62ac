import AppStore
import Kafka
import Postgres
import Records
import Settings
import Store

enum ListCommand: DeadLetterCommand {
    static let name = "list"
    static let summary = "Lists dead letters, the newest first, each once however often it was repeated."
    static let options: [CommandOption] = FilterOptions.options + [limitOption, .wide, ToolContext.fromTopic]

    static let limitOption = CommandOption(
        "limit", short: "n", argument: "N", "Maximum number of lines; 50 by default.")

    /// The number of lines that `limitOption` asks for.
    static func limit(_ arguments: CommandArguments) throws(UsageError) -> Int {
        try arguments.value("limit", as: .int(1...100_000)) ?? 50
    }

    static func run(_ context: ToolContext) async throws -> Int32 {
        let query = try FilterOptions.query(context.arguments, now: context.now)
        let limit = try limit(context.arguments)
        guard let index = try await context.index() else { return try await readTopic(query, limit: limit, context) }
        let rows = try await DeadLetterTable.page(query, limit: limit, on: index)
        print(rows, context)
        let count = try await DeadLetterCounts.count(query, on: index)
        let standing = try await context.standing(of: index)
        context.console.note("\(rows.count) of \(count) dead letters, \(standing.text)")
        return ExitCode.found(count)
    }

    private static func readTopic(_ query: DeadLetterQuery, limit: Int, _ context: ToolContext) async throws -> Int32 {
        try IndexOnly.check(query)
        let (newest, notes) = try await fromTopic(query, limit: limit, context)
        let rows = newest.sorted
        print(rows, context)
        let note = "\(rows.count) of \(newest.count) dead letters, "
        context.console.note(note + notes + IndexOnly.note(context))
        return ExitCode.found(newest.count)
    }

    /// The newest letters by the topic itself, and notes on the reading.
    static func fromTopic(_ query: DeadLetterQuery, limit: Int, _ context: ToolContext) async throws -> (
        newest: NewestLetters, notes: String
    ) {
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
        return (newest, fold.notes(summary))
    }

    /// The rows as a table, or as JSON in lines.
    static func print(_ rows: [DeadLetterRow], _ context: ToolContext) {
        let columns = DeadLetterRow.columns(topic: context.topic.name)
        context.console.print(rows, columns, context.arguments) { $0.warning != nil }
    }
}

/// Features that need the index.
enum IndexOnly {
    /// - Throws: if a filter asks for a fact that the topic does not hold.
    static func check(_ query: DeadLetterQuery) throws(UsageError) {
        guard query.states.isEmpty else { throw UsageError(needed("--state")) }
    }

    /// The error of an option that needs the index.
    static func needed(_ option: String) -> String {
        "\(option) needs the index: set database.url (DATABASE_URL), and keep "
            + "'\(DeadLetterTool.name) index' running"
    }

    /// The note that the topic was read, and why.
    static func note(_ context: ToolContext) -> String {
        context.client == nil ? "; no database is configured, so this is from the topic alone" : ""
    }
}
