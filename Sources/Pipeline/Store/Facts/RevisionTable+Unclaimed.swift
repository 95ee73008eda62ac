package import AppStore
import Postgres
package import Records

/// Contents without a fact: their ID has no row.
extension RevisionTable {
    /// The start of a page of contents, and its size.
    package typealias Page = (after: Name, countMax: Int)

    /// A content of a page; a page returns the contents without a fact, and its last content.
    package struct PageContent: Sendable {
        package let name: Name
        package let isUnclaimed: Bool
        /// The original transaction ID in the payload.
        ///
        /// `nil` if the payload names none.
        package let originalTransactionID: Identifier?
        package let source: RecordPosition
    }

    /// Searches a page of all contents, in the order of their keys.
    ///
    /// Omits contents that are found with their purchase: a transaction with a stored ownership
    /// fact, and a renewal info of a subscription with any other row.
    package static let unclaimed = Statement<Page, PageContent>(
        [
            .value("id", \.after.subject.id), .value("kind", \.after.subject.kind),
            .value("environment", \.after.subject.environment), .value("bundle_id", \.after.subject.bundleID),
            .value("trust", \.after.trust), .value("track", \.after.subject.track),
            .value("content_hash", \.after.contentHash), .value("count_max", \.countMax),
        ], returning: pageReader,
        """
        WITH page AS MATERIALIZED (
            SELECT \(key), row_number() OVER (ORDER BY \(key)) AS number
            FROM (
                SELECT \(key) FROM revisions
                WHERE (\(key))
                    > ($id, $kind, $environment, $bundle_id, $trust, $track, $content_hash)
                ORDER BY \(key) LIMIT $count_max
            ) AS next
        ),
        found AS MATERIALIZED (
            SELECT page.*, \(hasNoRow) AS has_no_row FROM page
        )
        SELECT \(Subject.reader.names(of: "old")), old.trust, old.content_hash,
               found.has_no_row AND NOT coalesce(\(isKnown), false) AS is_unclaimed,
               CASE WHEN is_identifier(old.original_transaction_id)
                   THEN old.original_transaction_id END AS original_transaction_id,
               old.source_topic, old.source_partition, old.source_offset
        FROM found
        CROSS JOIN LATERAL (
            SELECT old.*, \(original) AS original_transaction_id FROM revisions AS old
            WHERE old.id = found.id AND old.kind = found.kind
              AND old.environment = found.environment AND old.bundle_id = found.bundle_id
              AND old.trust = found.trust AND old.track = found.track
              AND old.content_hash = found.content_hash
            OFFSET 0
        ) AS old
        WHERE found.has_no_row OR found.number = (SELECT max(number) FROM page)
        ORDER BY found.number
        """)

    private static let key = "id, kind, environment, bundle_id, trust, track, content_hash"

    /// The original transaction ID, as SQL.
    ///
    /// PostgreSQL cannot read members of a payload with an escape that it cannot store.
    private static let original = """
        CASE WHEN found.has_no_row AND strpos(old.payload::text, '\\u') = 0
            THEN old.payload ->> 'originalTransactionId' END
        """

    /// The condition that the ID has no row.
    ///
    /// An app transaction that names no account has no row in any other table.
    private static let hasNoRow = """
        CASE page.kind
            WHEN 'transaction' THEN NOT EXISTS (
                SELECT FROM transactions AS fact
                WHERE fact.transaction_id = page.id AND fact.environment = page.environment
                  AND fact.bundle_id = page.bundle_id AND fact.track = page.track
            )
            WHEN 'renewal' THEN NOT EXISTS (
                SELECT FROM renewals AS fact
                WHERE fact.original_transaction_id = page.id
                  AND fact.environment = page.environment AND fact.trust = page.trust
            )
            ELSE page.id NOT LIKE 'sha256:%' AND NOT EXISTS (
                SELECT FROM app_downloads AS fact
                WHERE fact.app_transaction_id = page.id
                  AND fact.environment = page.environment AND fact.bundle_id = page.bundle_id
            )
        END
        """

    private static let isKnown = """
        CASE old.kind
            WHEN 'transaction' THEN EXISTS (
                SELECT FROM ownership_facts AS fact
                WHERE fact.original_transaction_id = old.original_transaction_id
                  AND fact.transaction_id = old.id AND fact.environment = old.environment
                  AND fact.bundle_id = old.bundle_id AND fact.track = old.track
            )
            WHEN 'renewal' THEN \(isRenewalKnown)
            ELSE false
        END
        """

    private static let isRenewalKnown = AllPurchases.tables.map { table in
        """
        EXISTS (
            SELECT FROM \(table) AS fact
            WHERE fact.original_transaction_id = old.id AND fact.environment = old.environment
        )
        """
    }.joined(separator: " OR ")

    private static let pageReader = RowReader(
        PageContent.init, RowReader(Name.init, Subject.reader, "trust", "content_hash"), "is_unclaimed",
        "original_transaction_id", RecordPosition.reader)
}
