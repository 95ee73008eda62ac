package import AppStore
package import JSON
package import Postgres
import Records

/// The table `dead_letters`: written by the indexer, read by all searches.
package enum DeadLetterTable {
    /// The planner's settings for sessions that search: a query is planned for its actual filters,
    /// instead of for all possible ones.
    package static let sessionSettings = ["plan_cache_mode": "force_custom_plan"]

    /// The last row of a page, after which the next one begins.
    package struct Cursor: Equatable, Sendable {
        package let failedAt: Timestamp
        package let id: String

        package init(failedAt: Timestamp, id: String) {
            self.failedAt = failedAt
            self.id = id
        }

        package init(_ row: DeadLetterRow) { self.init(failedAt: row.failedAt, id: row.id) }
    }

    /// A lock that indexers share until the transaction's end, so that states do not change.
    static let shareStates = Locks.shared("dead letter states")

    /// Writes the copy of each ID that counts, by `DeadLetterRow.counts(before:)`; each row stands
    /// for one ID alone.
    static let upsert = Statement<[DeadLetterRow], Void>(
        [.rows("new", DeadLetterRow.columns)],
        """
        INSERT INTO dead_letters AS known ($new.columns, state)
        SELECT new.*, coalesce(held.state, 'open')
        FROM $new
        LEFT JOIN dead_letter_states AS held ON held.id = new.id
        ORDER BY new.id
        ON CONFLICT (id) DO UPDATE SET
            \(replaced), copies = known.copies + excluded.copies,
            is_disputed = \(isDisputed(by: "excluded"))
        WHERE \(rank("excluded")) < \(rank("known"))
        """)

    /// The columns that a copy replaces if it counts.
    private static let replaced = DeadLetterRow.columns.assignments(
        from: "excluded", except: "id", "copies", "is_disputed")

    /// Counts copies that do not count themselves.
    static let addOthers = Statement<[DeadLetterRow], Void>(
        [.rows("new", DeadLetterRow.columns)],
        """
        UPDATE dead_letters AS known SET
            copies = known.copies + new.copies, is_disputed = \(isDisputed(by: "new"))
        FROM $new
        WHERE known.id = new.id AND \(rank("known")) < \(rank("new"))
        """)

    private static func rank(_ row: String) -> String {
        "(\(row).doubt IS NOT NULL, \(row).value_state <> '\(DeadLetterRow.redacted)', "
            + "\(row).letter_partition, \(row).letter_offset)"
    }

    private static func isDisputed(by other: String) -> String {
        """
        known.is_disputed OR \(other).is_disputed
            OR known.doubt IS NULL AND \(other).doubt IS NULL
            AND (known.contents_sha256, known.letter_partition)
                <> (\(other).contents_sha256, \(other).letter_partition)
        """
    }

    static let answer = Statement<String, String?>(
        [.value("id") { StorableText.of($0.lowercased()) }], returning: RowReader("answer"),
        "SELECT dead_letter($id)::text AS answer")

    /// The answer of the SQL function `dead_letter`; nil for an unknown ID.
    package static func answer(about id: String, on client: PostgresClient) async throws -> JSONContent? {
        guard let text = try await client.run(answer, id)[0] else { return nil }
        return JSONContent(try JSONDocument(parsing: Array(text.utf8)).root)
    }

    /// The known letters of these IDs, in no order.
    package static func get(_ ids: Set<String>, on client: PostgresClient) async throws -> [DeadLetterRow] {
        guard !ids.isEmpty else { return [] }
        var query = DeadLetterQuery()
        query.ids = ids
        return try await page(query, limit: ids.count, on: client)
    }
}
