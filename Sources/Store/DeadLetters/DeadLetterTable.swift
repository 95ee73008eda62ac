package import AppStore
package import Postgres
import Records

/// The table `dead_letters`: written by the indexer, read by all who search.
package enum DeadLetterTable {
    /// The planner's settings for sessions that search: a query is planned for the filters that it
    /// has, and not for all that it could have.
    package static let sessionSettings = ["plan_cache_mode": "force_custom_plan"]

    /// The last row of a page, behind which the next one begins.
    package struct Cursor: Equatable, Sendable {
        package let failedAt: Timestamp
        package let id: String

        package init(failedAt: Timestamp, id: String) {
            self.failedAt = failedAt
            self.id = id
        }

        package init(_ row: DeadLetterRow) {
            self.init(failedAt: row.failedAt, id: row.id)
        }
    }

    /// Shared by who indexes, until the transaction's end: states do not change meanwhile.
    static let shareStates = Statement<Void, Void>(
        "SELECT pg_advisory_xact_lock_shared(hashtextextended('dead letter states', 0))"
    )

    /// The newest copy of an ID counts; each row stands for one ID alone.
    static let upsert = Statement<[DeadLetterRow], Void>(
        [.rows("new", DeadLetterRow.columns)],
        """
        INSERT INTO dead_letters AS known ($new.columns, state)
        SELECT new.*, coalesce(held.state, 'open')
        FROM $new
        LEFT JOIN dead_letter_states AS held ON held.id = new.id
        ORDER BY new.id
        ON CONFLICT (id) DO UPDATE SET
            \(DeadLetterRow.content.excluded), copies = known.copies + excluded.copies
        WHERE (excluded.failed_at, excluded.letter_partition, excluded.letter_offset)
            > (known.failed_at, known.letter_partition, known.letter_offset)
        """
    )

    /// Counts copies that are older than the one that is known.
    static let addOlder = Statement<[DeadLetterRow], Void>(
        [.rows("new", DeadLetterRow.identity)],
        """
        UPDATE dead_letters AS known SET copies = known.copies + new.copies
        FROM $new
        WHERE known.id = new.id
          AND (known.failed_at, known.letter_partition, known.letter_offset)
              > (new.failed_at, new.letter_partition, new.letter_offset)
        """
    )

    /// The letters of these IDs, those that are known, in no order.
    package static func get(
        _ ids: Set<String>,
        on client: PostgresClient
    ) async throws -> [DeadLetterRow] {
        guard !ids.isEmpty else { return [] }
        var query = DeadLetterQuery()
        query.ids = ids
        return try await page(query, limit: ids.count, on: client)
    }
}

extension DeadLetterRow {
    /// What tells which copy is meant, and how many there were.
    fileprivate static let identity: Columns<DeadLetterRow> = [
        Column("id") { StorableText.of($0.id) },
        Column("letter_partition", \.letterPartition),
        Column("letter_offset", \.letterOffset),
        Column("failed_at") { StoredTime($0.failedAt) },
        Column("copies", \.copies),
    ]
}
