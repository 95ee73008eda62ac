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

    package enum Order: Sendable {
        case newestFirst, oldestFirst
    }

    typealias Page = (query: DeadLetterQuery, after: Cursor?, limit: Int)

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

    static let newest = page("<", "DESC")
    static let oldest = page(">", "ASC")

    private static func page(
        _ comparison: String,
        _ direction: String
    ) -> Statement<Page, DeadLetterRow> {
        Statement(
            DeadLetterQuery.parameters(\.query) + [
                .value("after_at") { $0.after.map { StoredTime($0.failedAt) } },
                .value("after_id", \.after?.id),
                .value("limit", \.limit),
            ],
            returning: DeadLetterRow.reader,
            """
            SELECT \(DeadLetterRow.reader.names(of: "letter"))
            FROM dead_letters AS letter
            WHERE ($after_id IS NULL
                OR (letter.failed_at, letter.id) \(comparison) ($after_at, $after_id))
              AND \(DeadLetterQuery.condition)
            ORDER BY letter.failed_at \(direction), letter.id \(direction) LIMIT $limit
            """
        )
    }

    /// A page of what is asked for, behind the cursor.
    package static func page(
        _ query: DeadLetterQuery,
        after cursor: Cursor? = nil,
        limit: Int,
        order: Order = .newestFirst,
        on client: PostgresClient
    ) async throws -> [DeadLetterRow] {
        let statement = order == .newestFirst ? newest : oldest
        return Array(try await client.run(statement, (query, cursor, limit)))
    }

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

    typealias Search = (text: String, position: RecordPosition?, limit: Int)

    /// One bounded look-up for each kind of identifier, because together no index would serve them.
    static let search = Statement<Search, DeadLetterRow>(
        [
            .value("text") { StorableText.of($0.text) },
            .value("digits") { StorableText.of($0.text.lowercased()) },
            .value("topic", \.position?.topic),
            .value("partition", \.position?.partition),
            .value("offset", \.position?.offset),
            .value("limit", \.limit),
        ],
        returning: DeadLetterRow.reader,
        """
        SELECT DISTINCT \(DeadLetterRow.reader.names(of: "letter"))
        FROM (
            \(searched.map { "(SELECT * FROM dead_letters WHERE \($0) LIMIT $limit)" }
                .joined(separator: "\nUNION ALL "))
        ) AS letter
        ORDER BY letter.failed_at DESC, letter.id DESC LIMIT $limit
        """
    )

    private static let searched = [
        "id >= $digits AND id < $digits || '~' ORDER BY id",
        "replay_of = $text",
        "group_id = $digits ORDER BY failed_at DESC",
        "transaction_id = $text", "original_transaction_id = $text",
        "bundle_id = $text ORDER BY failed_at DESC",
        "product_id = $text ORDER BY failed_at DESC",
        "worker = $text ORDER BY failed_at DESC",
        fingerprint("leaf_sha256"), fingerprint("intermediate_sha256"), fingerprint("root_sha256"),
        "source_topic = $topic AND source_partition = $partition AND source_offset = $offset",
        "raw_topic = $topic AND raw_partition = $partition AND raw_offset = $offset",
        """
        $topic IN (SELECT topic FROM dead_letter_progress)
        AND letter_partition = $partition AND letter_offset = $offset
        """,
    ]

    private static func fingerprint(_ column: String) -> String {
        "length($digits) >= 6 AND \(column) >= $digits AND \(column) < $digits || '~'"
    }

    /// What any identifier finds: a transaction, bundle, product or group ID, a worker, the
    /// beginning of a letter's ID or, from six digits on, of a fingerprint, or the position of the
    /// source record, of its body, or of the letter; the newest first.
    package static func search(
        _ text: String,
        limit: Int,
        on client: PostgresClient
    ) async throws -> [DeadLetterRow] {
        Array(try await client.run(search, (text, RecordPosition(text), limit)))
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
