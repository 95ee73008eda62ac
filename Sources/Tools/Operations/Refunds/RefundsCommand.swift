import AppStore
import Commands
import JSON
import Platform
import Postgres
import Settings
import Store

extension ToolCommand {
    static let refundsList = ToolCommand(
        "refunds list", "Lists Apple's refund requests and their answers, the newest first.",
        options: [
            CommandOption("outcome", argument: "NAME", choices: refundOutcomes, "Only these."),
            CommandOption("user", argument: "USER", "Only of this user's purchases."),
            CommandOption("limit", argument: "N", "Maximum number of requests; 100 unless given."), .environment,
            .postgres, .config, .wide, .json,
        ]
    ) { context in
        let outcome = try choice("outcome", of: refundOutcomes, context)
        let selection: RefundTable.Selection = (
            id: nil, environment: try context.environment(),
            userID: context.arguments.value("user").map { Identifier($0) }, outcome: outcome,
            limit: try context.arguments.value("limit", as: .int(1...100_000)) ?? 100
        )
        let rows = try await context.withDatabase { Array(try await $0.run(RefundTable.list, selection)) }
        context.console.print(rows, refundColumns, context.arguments) { $0.outcome == "late" }
        return context.found(rows.count, "refund request")
    }

    static let refundsShow = ToolCommand(
        "refunds show", "Shows a refund request: the evidence, the answer, and what Apple decided.", operands: "ID",
        operandCount: 1...1, options: [.environment, .postgres, .config, .json]
    ) { context in
        let selection: RefundTable.Selection = (
            id: Identifier(context.arguments.operands[0]), environment: try context.environment(), userID: nil,
            outcome: nil, limit: 1
        )
        let rows = try await context.withDatabase { Array(try await $0.run(RefundTable.list, selection)) }
        for row in rows {
            context.print(JSONContent(row, refundColumns)) { console in
                for column in refundColumns {
                    guard let name = column.name else { continue }
                    let text =
                        switch column.value(row) {
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
        context.console.print(counts, countColumns, context.arguments) { $0.outcome == "late" }
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
        context.print(["id": id, "is_decided": isDecided], or: line)
        return ExitCode.answer(isDecided)
    }

    private static let refundOutcomes = RefundRequestTable.Outcome.allCases.map(\.rawValue) + ["waiting"]

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

    static let refundColumns: [ReportColumn<RefundTable.Row>] = [
        .init("requested_at", title: "requested", \.requestedAt), .init("outcome", \.outcome),
        .init("preference", \.preference), .init("decision", title: "Apple", \.decision),
        .init("product_id", title: "product", rank: 1, \.productID), .init("user_id", title: "user", rank: 2, \.userID),
        .init("id", \.id), .member("environment", \.environment.rawValue), .member("bundle_id", \.bundleID),
        .member("original_transaction_id", \.originalTransactionID), .member("transaction_id", \.transactionID),
        .member("product_type", \.productType), .member("price", \.price), .member("currency", \.currency),
        .member("deadline", \.deadline), .member("ended_at", \.endedAt),
        .member("answer") { $0.answer.map { JSONContent.raw(Array($0.bytes)) } ?? .null },
        .member("evidence") { $0.evidence.map { JSONContent.raw(Array($0.bytes)) } ?? .null },
        .member("error_code", \.errorCode), .member("decided_by", \.decidedBy), .member("reason", \.reason),
        .member("decision_at", \.decisionAt),
    ]

    private static let countColumns: [ReportColumn<RefundTable.Count>] = [
        .init("product_id", title: "product", \.productID), .init("outcome", \.outcome),
        .init("preference", \.preference), .init("decision", title: "Apple", \.decision), .init("requests", \.count),
        .init("price", rank: 1, \.price), .init("currency", rank: 1, \.currency),
    ]
}
