import Postgres
import Store
import Worker

/// Adds the events of time to the history: periods that begin or end, or end soon, without a new fact.
///
/// The database's clock decides. The transaction that moves a row past a boundary adds the event, so each boundary is
/// announced once, by any copy, and the feed publishes it like every change.
final class TimeEvents: Outbox {
    private let client: PostgresClient
    private let notice: Duration
    private let feed: ChangeFeed
    private let size: TransactionSize

    private static let sweepInterval = Duration.milliseconds(200)

    /// - Parameter notice: time before an end at which the end is announced; zero for no such event.
    init(client: PostgresClient, notice: Duration, feed: ChangeFeed) {
        self.client = client
        self.notice = notice
        self.feed = feed
        size = TransactionSize(statementDeadline: client.statementDeadline)
    }

    var writesRecords: Bool { false }

    func waitForWork() async throws { try await Task.sleep(for: Self.sweepInterval) }

    func empty(_: @escaping OutboxDelivery) async throws {
        while try await announce() > 0 {
            feed.wake()
            try Task.checkCancellation()
        }
    }

    func close() async {}

    private func announce() async throws -> Int64 {
        let rowsMax = min(BoundaryColumns.rowsMax, size.recordsMax)
        let start = ContinuousClock.now
        do {
            let count = try await client.run(BoundaryColumns.announce, (rowsMax: rowsMax, notice: notice))[0]
            size.committed(rowsMax, after: .now - start)
            size.finished(largest: rowsMax, after: .now - start)
            return count
        } catch let error as PostgresError where error.isTooSlow {
            size.exceeded(rowsMax)
            throw error
        }
    }
}
