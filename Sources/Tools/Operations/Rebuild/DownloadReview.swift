import AppStore
import Entitlements
import Postgres
import Store

/// Compares the rows of `app_downloads` with the app transactions that they were read from.
///
/// App transactions belong to no purchase and grant nothing, so each window of rows is locked in a
/// separate transaction.
struct DownloadReview {
    let client: PostgresClient
    let isReplacing: Bool

    private static let rowsMax = 100

    private struct Undone: Error { let window: Window }

    private struct Window {
        var findings: [FactFinding] = []
        var last: AppTransactionGroup?
    }

    /// - Parameter found: receives the findings of each window.
    func run(_ found: ([FactFinding]) -> Void) async throws {
        var last = AppTransactionGroup(environment: Environment(rawValue: ""), bundleID: "", appTransactionID: "")
        while true {
            let window = try await window(after: last)
            guard let end = window.last else { return }
            last = end
            if !window.findings.isEmpty { found(window.findings) }
        }
    }

    private func window(after last: AppTransactionGroup) async throws -> Window {
        do {
            return try await client.transaction { connection in
                let window = try await review(after: last, connection)
                guard isReplacing else { throw Undone(window: window) }
                return window
            }
        } catch let undone as Undone { return undone.window }
    }

    private func review(after last: AppTransactionGroup, _ connection: PostgresConnection) async throws -> Window {
        let found = try await connection.run(AppDownloadTable.next, (last, Self.rowsMax))
        guard let end = found.last else { return Window() }
        var rows = found.map { ReviewedRow(fact: $0) }
        var review = FactReview(of: [], isOfOwners: false, on: connection)
        try await review.addNewest(to: &rows)
        try await review.write(review.derive(rows), rows)
        return Window(findings: review.findings, last: end.group)
    }
}
