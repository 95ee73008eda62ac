import AppStore
import Postgres
import Settings
import Store

/// Goes through what the deduplication remembers, and counts or deletes what is meant of it.
///
/// A row that a worker is writing is not waited for: it is tried again, and marked by then at a
/// time that the selection no longer means, or free.
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

    /// Rows that are marked from now on stay.
    init(_ selection: DedupeSelection, on connection: PostgresConnection) async throws {
        self.connection = connection
        let began = Timestamp(try await connection.run(DedupeForgetting.now)[0])
        self.selection = (
            since: selection.since.map { StoredTime($0) }, before: StoredTime(min(selection.before ?? began, began)),
            bundleID: selection.bundleID, environment: selection.environment
        )
    }

    /// - Parameter report: called after each step with what was found so far.
    func run(isDeleting: Bool, report: (Counts) -> Void) async throws -> Counts {
        var counts = Counts()
        for table in DedupeForgetting.Table.allCases {
            let count = table == .revisions ? \Counts.revisions : \Counts.notifications
            // Rows that come to pages beyond are marked after the beginning.
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
