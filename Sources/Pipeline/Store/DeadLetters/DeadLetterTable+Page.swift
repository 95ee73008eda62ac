import AppStore
package import Postgres
import Records

extension DeadLetterTable {
    /// The raw value is SQL's keyword.
    package enum Order: String, Sendable {
        case newestFirst = "DESC"
        case oldestFirst = "ASC"

        /// The operator that compares a later row of a page with an earlier one.
        fileprivate var comparison: String { self == .newestFirst ? "<" : ">" }
    }

    typealias Page = (query: DeadLetterQuery, after: Cursor?, limit: Int)

    /// A page of matching letters, after the cursor.
    package static func page(
        _ query: DeadLetterQuery, after cursor: Cursor? = nil, limit: Int, order: Order = .newestFirst,
        on client: PostgresClient
    ) async throws -> [DeadLetterRow] { Array(try await client.run(page(of: query, order), (query, cursor, limit))) }

    static func page(of query: DeadLetterQuery, _ order: Order) -> Statement<Page, DeadLetterRow> {
        query.isNarrowedByHours ? pageByHours(order) : page(order)
    }

    static func page(_ order: Order) -> Statement<Page, DeadLetterRow> {
        Statement(
            parameters, returning: DeadLetterRow.reader,
            """
            SELECT \(DeadLetterRow.reader.names(of: "letter"))
            FROM dead_letters AS letter
            WHERE \(isBehindCursor(order.comparison)) AND \(DeadLetterQuery.condition)
            ORDER BY letter.failed_at \(order.rawValue), letter.id \(order.rawValue) LIMIT $limit
            """)
    }

    /// The counts show in which hours and groups the letters lie, and one index finds them there:
    /// an index for each filter would cost more than all the rest of writing a letter.
    ///
    /// Each step is one hour that holds letters, and no more steps are made than fill the page: a
    /// recursive query is read row by row, in the order of its making, by a nested loop, which is
    /// the only way to run a lateral join. The outer query sorts nothing, because it would have to
    /// read all steps for it.
    static func pageByHours(_ order: Order) -> Statement<Page, DeadLetterRow> {
        let (comparison, direction) = (order.comparison, order.rawValue)
        let inSpan = isInSpan(comparison)
        let sorting = "letter.failed_at \(direction), letter.id \(direction)"
        func nextHour(_ condition: String) -> String {
            """
            SELECT part.hour FROM dead_letter_hours AS part
            WHERE \(condition) AND \(isNarrowed)
            ORDER BY part.hour \(direction) LIMIT 1
            """
        }
        return Statement(
            parameters, returning: DeadLetterRow.reader,
            """
            WITH RECURSIVE alike AS MATERIALIZED (
                SELECT same.group_id FROM dead_letter_groups AS same
                WHERE \(DeadLetterQuery.commonCondition(of: "same"))
            ), step AS (
                (\(nextHour(inSpan)))
                UNION ALL
                SELECT (\(nextHour("part.hour \(comparison) step.hour AND " + inSpan)))
                FROM step WHERE step.hour IS NOT NULL
            )
            SELECT \(DeadLetterRow.reader.names(of: "letter"))
            FROM step
            CROSS JOIN LATERAL (
                SELECT letter.*
                FROM (
                    SELECT DISTINCT part.group_id FROM dead_letter_hours AS part
                    WHERE part.hour = step.hour AND \(isNarrowed)
                ) AS found
                CROSS JOIN LATERAL (
                    SELECT * FROM dead_letters AS letter
                    WHERE letter.group_id = found.group_id AND letter.failed_at >= step.hour
                      AND letter.failed_at < step.hour + interval '1 hour'
                      AND \(isBehindCursor(comparison)) AND \(DeadLetterQuery.condition)
                    ORDER BY \(sorting) LIMIT $limit
                ) AS letter
                ORDER BY \(sorting) LIMIT $limit
            ) AS letter
            LIMIT $limit
            """)
    }

    /// The condition on a row of `dead_letter_hours` under the name `part`.
    private static let isNarrowed = """
        \(DeadLetterQuery.hourCondition(of: "part", environment: "part.environment"))
        AND (
            cardinality($reasons) = 0 AND $bundle IS NULL AND $certificate IS NULL
            OR part.group_id = ANY (ARRAY(SELECT group_id FROM alike)))
        """

    private static func isInSpan(_ comparison: String) -> String {
        """
        ($after_id IS NULL OR part.hour \(comparison)= dead_letter_hour($after_at))
        AND ($since IS NULL OR part.hour >= dead_letter_hour($since))
        AND ($until IS NULL OR part.hour < $until)
        """
    }

    private static let parameters: [Parameter<Page>] =
        DeadLetterQuery.parameters(\.query) + [
            .value("after_at") { $0.after.map { StoredTime($0.failedAt) } }, .value("after_id", \.after?.id),
            .value("limit", \.limit),
        ]

    /// Compares the times alone too, for the index of the groups.
    private static func isBehindCursor(_ comparison: String) -> String {
        """
        ($after_id IS NULL
            OR letter.failed_at \(comparison)= $after_at
                AND (letter.failed_at, letter.id) \(comparison) ($after_at, $after_id))
        """
    }
}
