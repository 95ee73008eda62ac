import AppStore
import Postgres
import Settings
import Store

/// Counts or deletes the selected entries of the deduplication's memory.
///
/// A row locked by a worker is skipped and tried again: by then it has either a newer mark outside
/// of the selection, or no lock.
struct DedupeCleaning {
    struct Counts: Hashable {
        var revisions: Int64 = 0
        var notifications: Int64 = 0

        var total: Int64 { revisions + notifications }
    }

    private static let stepDeadline = Duration.seconds(30)
    private static let attemptsMax = 100
    private static let retryPause = Duration.milliseconds(100)

    private let connection: PostgresConnection
    private let selection: DedupeForgetting.Selection

    /// Creates a cleaning that keeps rows marked from now on.
    init(_ selection: DedupeSelection, on connection: PostgresConnection) async throws {
        self.connection = connection
        let began = Timestamp(try await connection.run(DedupeForgetting.now)[0])
        self.selection = (
            since: selection.since.map { StoredTime($0) }, before: StoredTime(min(selection.before ?? began, began)),
            bundleID: selection.bundleID, environment: selection.environment
        )
    }

    /// - Parameter report: called after each step with the counts so far.
    func run(isDeleting: Bool, report: (Counts) -> Void) async throws -> Counts {
        var counts = Counts()
        for table in DedupeForgetting.Table.allCases {
            let count = table == .revisions ? \Counts.revisions : \Counts.notifications
            // Rows in later pages have a mark after the beginning, so they are not selected.
            let pages = try await connection.run(DedupeForgetting.pageCount(of: table))[0]
            for first in stride(from: 0, to: pages, by: Int(DedupeForgetting.pagesPerStep)) {
                let step: DedupeForgetting.Step = (selection: selection, firstPage: first)
                counts[keyPath: count] +=
                    isDeleting
                    ? try await delete(step, from: table)
                    : try await connection.run(DedupeForgetting.count(in: table), step, deadline: Self.stepDeadline)[0]
                report(counts)
            }
        }
        return counts
    }

    private func delete(_ step: DedupeForgetting.Step, from table: DedupeForgetting.Table) async throws -> Int64 {
        var deleted: Int64 = 0
        for _ in 0..<Self.attemptsMax {
            let deletion = try await connection.run(
                DedupeForgetting.delete(from: table), step, deadline: Self.stepDeadline)[0]
            deleted += deletion.deletedCount
            if deletion.foundCount == deletion.deletedCount { return deleted }
            try await Task.sleep(for: Self.retryPause)
        }
        throw CommandError(
            ExitCode.unavailable,
            "rows of \(table.rawValue) stay locked: find the session that holds them "
                + "(pg_stat_activity), and run the command again; \(deleted) of these are forgotten")
    }
}
