import AppStore
import Commands
import Kafka
import Postgres
import Records
import Settings
import Store

enum ListCommand: DeadLetterCommand {
    static let name = "list"
    static let summary = "Lists dead letters, the newest first, each once however often it was repeated."
    static let options: [CommandOption] = FilterOptions.options + [limitOption, .wide]

    static let limitOption = CommandOption(
        "limit", short: "n", argument: "N", "Maximum number of lines; 50 by default.")

    /// The number of lines that `limitOption` asks for.
    static func limit(_ arguments: CommandArguments) throws(UsageError) -> Int {
        try arguments.value("limit", as: .int(1...100_000)) ?? 50
    }

    static func run(_ context: ToolContext) async throws -> Int32 {
        let query = try FilterOptions.query(context.arguments, now: context.now)
        let limit = try limit(context.arguments)
        let index = try await context.database()
        let standing = try await context.standing(of: index)
        let rows = try await DeadLetterTable.page(query, limit: limit, on: index)
        print(rows, context)
        let count = try await DeadLetterCounts.count(query, on: index)
        context.console.note("\(rows.count) of \(count) dead letters, \(standing.text)")
        return ExitCode.found(count)
    }

    /// Prints the rows as a table, or as lines of JSON.
    static func print(_ rows: [DeadLetterRow], _ context: ToolContext) {
        let columns = DeadLetterRow.columns(topic: context.topic.name)
        context.console.print(rows, columns, context.arguments) { $0.warning != nil }
    }
}
