package import AppStore
package import Postgres

/// Dead letters that look alike: of the same reason, leaf certificate, app, source topic and
/// producer.
package struct DeadLetterGroup: Equatable, Sendable {
    /// A `DeadLetterRow.groupID`.
    package let id: String
    package let reason: String
    package let leaf: String?
    package let bundleID: String?
    package let sourceTopic: String
    package let producer: String?
    /// The number of matching letters.
    package let letters: Int64
    package let openLetters: Int64
    /// Letters that failed in the last hours, and in as many before those.
    package let recent: Int64
    package let before: Int64
    /// The time of the whole group's first letter, whether or not it matches.
    package let firstAt: Timestamp
    package let lastAt: Timestamp
}

/// The tables `dead_letter_groups` and `dead_letter_hours`, written by triggers of `dead_letters`.
package enum DeadLetterGroupTable {
    typealias Question = (query: DeadLetterQuery, recentFrom: StoredTime, beforeFrom: StoredTime, limit: Int)

    /// The hours that a trend compares with as many before.
    package static let trendHours: Int64 = 6

    /// The largest groups of the matching letters.
    ///
    /// - Parameter now: the end of the trend, in whole hours.
    package static func largest(_ query: DeadLetterQuery, now: Timestamp, limit: Int, on client: PostgresClient)
        async throws -> [DeadLetterGroup]
    {
        let hour: Int64 = 3_600_000
        let nextHour = (now.milliseconds / hour + 1) * hour
        let statement = query.isCounted ? ofHours : ofRows
        let question = (
            query, StoredTime(milliseconds: nextHour - trendHours * hour),
            StoredTime(milliseconds: nextHour - 2 * trendHours * hour), limit
        )
        return Array(try await client.run(statement, question))
    }

    static let ofHours = largest(fromHours: true)
    static let ofRows = largest(fromHours: false)

    private static func largest(fromHours: Bool) -> Statement<Question, DeadLetterGroup> {
        Statement(
            DeadLetterCounts.parameters(\.query, fromHours: fromHours) + [
                .value("recent_from", \.recentFrom), .value("before_from", \.beforeFrom), .value("limit", \.limit),
            ], returning: reader,
            """
            SELECT largest.*, span.first_at, span.last_at
            FROM (
                SELECT counted.group_id, min(counted.reason) AS reason,
                    min(counted.leaf_sha256) AS leaf_sha256, min(counted.bundle_id) AS bundle_id,
                    min(counted.source_topic) AS source_topic, min(counted.producer) AS producer,
                    sum(counted.letters)::int8 AS letters,
                    \(sum("counted.state = 'open'")) AS open_letters,
                    \(sum("counted.hour >= $recent_from")) AS recent,
                    \(sum("counted.hour >= $before_from AND counted.hour < $recent_from")) AS before
                FROM \(DeadLetterCounts.source(fromHours: fromHours)) AS counted
                GROUP BY counted.group_id
                ORDER BY letters DESC, group_id LIMIT $limit
            ) AS largest
            CROSS JOIN LATERAL (
                SELECT min(failed_at) AS first_at, max(failed_at) AS last_at
                FROM dead_letters WHERE group_id = largest.group_id
            ) AS span
            ORDER BY letters DESC, group_id
            """)
    }

    private static func sum(_ condition: String) -> String {
        "coalesce(sum(counted.letters) FILTER (WHERE \(condition)), 0)::int8"
    }

    private static let reader = RowReader(
        DeadLetterGroup.init, "group_id", "reason", "leaf_sha256", "bundle_id", "source_topic", "producer", "letters",
        "open_letters", "recent", "before", RowReader.time("first_at"), RowReader.time("last_at"))
}
