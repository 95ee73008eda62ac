package import AppStore
package import Postgres

/// Deletes entries of the deduplication's memory, by age or at an operator's request.
///
/// Each statement scans some pages of a table in a separate transaction, so that no worker waits for long.
package enum DedupeForgetting {
    package static let pagesPerStep: Int64 = 256

    package enum Table: String, CaseIterable, Sendable {
        case revisions = "dedupe_revisions"
        case notifications = "dedupe_notifications"
    }

    /// A selection of IDs by the time of their mark, app and environment.
    package typealias Selection = (since: StoredTime?, before: StoredTime, bundleID: Identifier?, environment: String?)

    /// A selection, and the first page of a step.
    package typealias Step = (selection: Selection, firstPage: Int64)

    package struct Deletion: Sendable {
        package let deletedCount: Int64
        /// Number of selected rows, including rows locked by other transactions.
        package let foundCount: Int64
    }

    /// Deletes entries older than the retention, in some pages of both tables.
    ///
    /// - Returns: whether more pages follow.
    package static func prune(olderThan retention: Duration, firstPage: Int64, on client: PostgresClient) async throws
        -> Bool
    { try await client.run(prune, (retention / .seconds(1), firstPage))[0] }

    static let prune = Statement<(seconds: Double, firstPage: Int64), Bool>(
        [.value("seconds", \.seconds), .value("first_page", \.firstPage), .value("page_count") { _ in pagesPerStep }],
        returning: RowReader("has_more"),
        """
        SELECT dedupe_prune(now() - make_interval(secs => $seconds), $first_page, $page_count)
            AS has_more
        """)

    package static let now = Statement<Void, StoredTime>(returning: RowReader("now"), "SELECT now() AS now")

    package static func pageCount(of table: Table) -> Statement<Void, Int64> {
        Statement(
            returning: RowReader("pages"),
            """
            SELECT pg_relation_size('\(table.rawValue)') / current_setting('block_size')::int8
                AS pages
            """)
    }

    /// Counts the selected rows in some pages.
    package static func count(in table: Table) -> Statement<Step, Int64> {
        Statement(
            parameters, returning: RowReader("count"), "SELECT count(*) FROM \(table.rawValue) \(condition(table))")
    }

    /// Deletes the selected rows that no other transaction has locked.
    package static func delete(from table: Table) -> Statement<Step, Deletion> {
        Statement(
            parameters, returning: RowReader(Deletion.init, "deleted", "found"),
            """
            WITH found AS MATERIALIZED (
                SELECT ctid FROM \(table.rawValue) \(condition(table))
            ), free AS MATERIALIZED (
                SELECT ctid FROM \(table.rawValue) \(condition(table)) FOR UPDATE SKIP LOCKED
            ), gone AS (
                DELETE FROM \(table.rawValue)
                WHERE ctid = ANY (ARRAY(SELECT ctid FROM free)) RETURNING 1
            )
            SELECT (SELECT count(*) FROM gone) AS deleted, (SELECT count(*) FROM found) AS found
            """)
    }

    private static let parameters: [Parameter<Step>] = [
        .value("since", \.selection.since), .value("before", \.selection.before),
        .value("bundle_id", \.selection.bundleID), .value("environment", \.selection.environment),
        .value("first_page", \.firstPage), .value("end_page") { $0.firstPage + pagesPerStep },
    ]

    private static func condition(_ table: Table) -> String {
        // Entries without an app match every app.
        let isOfApp = table == .revisions ? "bundle_id IN ($bundle_id, '')" : "true"
        return """
            WHERE ctid >= format('(%s,0)', $first_page)::tid
              AND ctid < format('(%s,0)', $end_page)::tid
              AND marked_at >= coalesce($since, '-infinity') AND marked_at < $before
              AND ($bundle_id IS NULL OR \(isOfApp))
              AND ($environment IS NULL OR environment = $environment)
            """
    }
}
