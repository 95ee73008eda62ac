import Postgres
import Settings

/// Goes through what the deduplication remembers, and counts or deletes what is meant of it.
///
/// One statement goes through some pages of a table and commits by itself, so that no worker waits
/// for long. A row that a worker is writing is not waited for: it is tried again, and marked by
/// then at a time that the selection no longer means, or free.
struct DedupeForgetting {
    struct Counts: Hashable {
        var revisions: Int64 = 0
        var notifications: Int64 = 0

        var total: Int64 { revisions + notifications }
    }

    private enum Table: String, CaseIterable {
        case revisions = "dedupe_revisions"
        case notifications = "dedupe_notifications"

        var count: WritableKeyPath<Counts, Int64> {
            self == .revisions ? \.revisions : \.notifications
        }
    }

    private static let pagesPerStep: Int64 = 256
    private static let stepDeadline = Duration.seconds(30)
    private static let attemptsMax = 100
    private static let retryPause = Duration.milliseconds(100)

    private let connection: PostgresConnection
    private let selection: [PostgresValue]

    /// What is marked from now on stays.
    init(_ selection: DedupeSelection, on connection: PostgresConnection) async throws {
        self.connection = connection
        let began = try await connection.query("SELECT now()")[0].timestamp(0)
        self.selection = [
            selection.since.map { .timestamptz(milliseconds: $0) } ?? .null,
            .timestamptz(milliseconds: min(selection.before ?? began, began)),
            .text(selection.bundleID), .text(selection.environment),
        ]
    }

    /// - Parameter report: called after each step with what was found so far.
    func run(isDeleting: Bool, report: (Counts) -> Void) async throws -> Counts {
        var counts = Counts()
        for table in Table.allCases {
            // Rows that come to pages beyond are marked after the beginning.
            let pages = try await connection.query(
                "SELECT pg_relation_size($1::text::regclass) "
                    + "/ current_setting('block_size')::int8",
                [.text(table.rawValue)]
            )[0].int8(0)
            for first in stride(from: 0, to: pages, by: Int(Self.pagesPerStep)) {
                counts[keyPath: table.count] +=
                    isDeleting
                    ? try await delete(from: table, first) : try await count(in: table, first)
                report(counts)
            }
        }
        return counts
    }

    private func count(in table: Table, _ first: Int64) async throws -> Int64 {
        try await step("SELECT count(*) FROM \(table.rawValue) \(Self.condition(table))", first)[0]
            .int8(0)
    }

    private func delete(from table: Table, _ first: Int64) async throws -> Int64 {
        var deleted: Int64 = 0
        for _ in 0..<Self.attemptsMax {
            let row = try await step(Self.deletion(table), first)[0]
            deleted += row.int8(0)
            if row.int8(1) == row.int8(0) { return deleted }
            try await Task.sleep(for: Self.retryPause)
        }
        throw CommandError(
            ExitCode.unavailable,
            "rows of \(table.rawValue) stay locked: find the session that holds them "
                + "(pg_stat_activity), and run the command again; \(deleted) of these are forgotten"
        )
    }

    private func step(_ statement: String, _ first: Int64) async throws -> PostgresRows {
        let pages: [PostgresValue] = [
            .text("(\(first),0)"), .text("(\(first + Self.pagesPerStep),0)"),
        ]
        return try await connection.query(
            statement,
            selection + pages,
            deadline: Self.stepDeadline
        )
    }

    private static func deletion(_ table: Table) -> String {
        """
        WITH found AS MATERIALIZED (
            SELECT ctid FROM \(table.rawValue) \(condition(table))
        ), free AS MATERIALIZED (
            SELECT ctid FROM \(table.rawValue) \(condition(table)) FOR UPDATE SKIP LOCKED
        ), gone AS (
            DELETE FROM \(table.rawValue)
            WHERE ctid = ANY (ARRAY(SELECT ctid FROM free)) RETURNING 1
        )
        SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM found)
        """
    }

    /// Of the pages from $5 to before $6.
    private static func condition(_ table: Table) -> String {
        let bundle =
            table == .revisions ? "bundle_id IN ($3, '')" : "$3::text IS NOT NULL"
        return """
            WHERE ctid >= $5::text::tid AND ctid < $6::text::tid
              AND marked_at >= coalesce($1::timestamptz, '-infinity') AND marked_at < $2
              AND ($3::text IS NULL OR \(bundle))
              AND ($4::text IS NULL OR environment = $4)
            """
    }
}
