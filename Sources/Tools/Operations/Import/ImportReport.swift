import AppStore
import Commands
import JSON
import Settings
import Store

/// The states of imported customers.
struct ImportReport: Report {
    private let counts: [ImportTable.State: Int64]
    private let open: [ImportTable.Customer]

    static func show(_ context: OperatorContext) async throws -> Int32 {
        let limit = try context.arguments.value("limit", as: .int(0...1_000_000)) ?? 20
        let report = try await context.withDatabase { connection in
            let counts = try await connection.run(ImportTable.counts).map { ($0.state, $0.count) }
            return ImportReport(
                counts: Dictionary(uniqueKeysWithValues: counts),
                open: Array(try await connection.run(ImportTable.open, limit)))
        }
        context.console.print(report, context.arguments)
        return ExitCode.answer(report.total > 0 && report.counts[.whole] == report.total)
    }

    private var total: Int64 { counts.values.reduce(0, +) }

    private static let columns: [ReportColumn<ImportTable.Customer>] = [
        .init("state", \.state.rawValue), .init("original_transaction_id", \.originalTransactionID),
        .init("environment", rank: 1, \.app.environment.rawValue), .init("bundle", rank: 2, \.app.bundleID),
    ]

    var json: JSONContent {
        .object(
            [("customers", total.json)] + ImportTable.State.allCases.map { ($0.rawValue, (counts[$0] ?? 0).json) } + [
                ("open", .array(open.map { JSONContent($0, Self.columns) }))
            ])
    }

    var parts: [TextPart] {
        let states = ImportTable.State.allCases.map { state in
            "\(Quantity.grouped(counts[state] ?? 0)) \(state.rawValue.split(separator: "_").joined(separator: " "))"
        }
        let line = "\(Quantity.counted(total, "customer")): " + states.joined(separator: ", ")
        return [.line(TextLine(line))] + (open.isEmpty ? [] : [.table(TextTable(open, Self.columns))])
    }
}
