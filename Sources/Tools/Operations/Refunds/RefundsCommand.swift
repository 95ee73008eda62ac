import AppStore
import Commands
import JSON
import Platform
import Postgres
import Reports
import Settings
import Store

extension ToolCommand {
    static let refundsList = ToolCommand(
        "refunds list", "Lists Apple's refund requests and their answers, the newest first.",
        options: [
            CommandOption("outcome", argument: "NAME", choices: RefundRequestTable.outcomes, "Only these."),
            CommandOption("preference", argument: "NAME", choices: RefundReplies.preferences, "Only these."),
            CommandOption("product", argument: "ID", "Only of this product."),
            CommandOption("user", argument: "USER", "Only of this user's purchases."),
            CommandOption("limit", argument: "N", "Maximum number of requests; 100 unless given."), .environment,
            .postgres, .config, .wide, .json,
        ]
    ) { context in
        var selection = RefundTable.Selection(limit: try context.arguments.value("limit", as: .int(1...100_000)) ?? 100)
        selection.environment = try context.environment()
        selection.outcome = try choice("outcome", of: RefundRequestTable.outcomes, context)
        selection.preference = try choice("preference", of: RefundReplies.preferences, context)
        selection.productID = context.arguments.value("product").map { Identifier($0) }
        selection.userID = context.arguments.value("user").map { Identifier($0) }
        let rows = try await context.withDatabase { Array(try await $0.run(RefundTable.list, selection)) }
        context.console.print(rows, RefundTable.Row.columns, context.arguments) { $0.outcome == "late" }
        return context.found(rows.count, "refund request")
    }

    static let refundsShow = ToolCommand(
        "refunds show", "Shows a refund request: the evidence, the answer, and what Apple decided.", operands: "ID",
        operandCount: 1...1, options: [.environment, .postgres, .config, .json]
    ) { context in
        var selection = RefundTable.Selection(limit: 1)
        selection.id = Identifier(context.arguments.operands[0])
        selection.environment = try context.environment()
        let rows = try await context.withDatabase { Array(try await $0.run(RefundTable.list, selection)) }
        for row in rows {
            context.print(JSONContent(row, RefundTable.Row.columns)) { console in
                for column in RefundTable.Row.columns {
                    guard let name = column.name else { continue }
                    let text =
                        switch column.value(row) {
                        case _ where column.column != nil: column.cell(row)
                        case .null: "-"
                        case .string(let text), .time(_, let text): text
                        case let value: String(decoding: value.bytes, as: UTF8.self)
                        }
                    console.print("\(name): \(Printable.line(text, lengthMax: .max))")
                }
            }
        }
        return context.found(rows.count, "refund request")
    }

    static let refundsCount = ToolCommand(
        "refunds count", "Counts refund requests by product, outcome, preference, Apple's decision and currency.",
        options: [
            CommandOption("since", argument: "DATE", "From this date on; the last 30 days unless given."), .environment,
            .postgres, .config, .wide, .json,
        ]
    ) { context in
        let month = Timestamp(milliseconds: WallClock.milliseconds - 30 * Timestamp.millisecondsPerDay)
        let since = try context.arguments.value("since", as: .instant) ?? month
        let environment = try context.environment()
        let counts = try await context.withDatabase {
            Array(try await $0.run(RefundTable.count, (environment, StoredTime(since))))
        }
        context.console.print(counts, RefundTable.Count.columns, context.arguments) { $0.outcome == "late" }
        return context.found(counts.count, "refund request")
    }

    static let refundsAnswer = ToolCommand(
        "refunds answer",
        "Decides the preference of a refund request whose answer is not written yet.\n\n"
            + "Consent, delivery and consumption stay as the facts say; recovery-worker sends the answer.",
        operands: "ID", operandCount: 1...1,
        options: [
            CommandOption(
                "preference", argument: "NAME", choices: RefundReplies.preferences, "What Apple is told. Required."),
            CommandOption("reason", argument: "TEXT", "Why, for the history. Required."),
            CommandOption("by", argument: "NAME", "Who decides. Required."), .environment, .postgres, .config, .json,
        ]
    ) { context in
        _ = try choice("preference", of: RefundReplies.preferences, context)
        let id = context.arguments.operands[0]
        let decision: RefundTable.Decision = (
            id: Identifier(id), environment: try context.environment(), preference: try context.required("preference"),
            by: try context.required("by"), reason: try context.required("reason")
        )
        let isDecided = try await context.withDatabase { try await $0.run(RefundTable.decide, decision)[0] }
        let line =
            isDecided ? "refund request \(id) is decided" : "there is no refund request \(id), or its answer is written"
        context.print(["request_id": id, "is_decided": isDecided], or: line)
        return ExitCode.answer(isDecided)
    }

    /// The value of an option that takes some words only.
    private static func choice(_ name: String, of words: [String], _ context: OperatorContext) throws(UsageError)
        -> String?
    {
        guard let word = context.arguments.value(name) else { return nil }
        guard words.contains(word) else {
            throw UsageError("--\(name): expected one of \(words.joined(separator: ", "))")
        }
        return word
    }
}
