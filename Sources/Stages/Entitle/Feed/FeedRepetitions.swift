import Postgres

/// Users whose newest state is published once more, after a while.
///
/// What a copy had handed over when it was killed may lie in a socket's buffer, and be served after
/// what the next copy has published of the same users: the compacted topic of the states would end
/// in an older version than the newest, until the user's next change. So whoever is concerned is
/// noted together with the mark of what was published instead, and the newest state follows when
/// nothing of the killed copy can be under way any more.
enum FeedRepetitions {
    /// How long after the broker's acknowledgement the state follows.
    ///
    /// A broker that stands still, stands still for the next copy too: from its acknowledgement on
    /// only the network can hold anything back. Of a process that is gone Linux sends again what is
    /// not confirmed for about 100 s (`tcp_orphan_retries`, ip-sysctl).
    static let delaySeconds: Int64 = 120

    /// Notes users; whoever is noted already has to wait for longer.
    static func note(_ userIDs: Set<String>) -> PostgresStatement {
        PostgresStatement(
            insert(from: "unnest($1::text[]) AS concerned (user_id)", delay: "$2"),
            [.textArray(Array(userIDs)), .int8(delaySeconds)]
        )
    }

    /// - Parameters:
    ///   - users: a relation with a column `user_id`.
    ///   - delay: the parameter that is `delaySeconds`.
    /// - Returns: SQL that takes the users in their order, so that no two who note the same wait
    ///   for each other.
    static func insert(from users: String, delay: String) -> String {
        """
        INSERT INTO feed_repetitions AS known (user_id, due)
        SELECT user_id, clock_timestamp() + \(delay)::int8 * interval '1 second'
        FROM \(users) ORDER BY user_id
        ON CONFLICT (user_id) DO UPDATE SET due = greatest(known.due, excluded.due)
        """
    }

    /// Has nobody wait for longer than anybody who is noted now: the clock has gone back since.
    static let shorten = PostgresStatement(
        """
        UPDATE feed_repetitions SET due = clock_timestamp() + $1::int8 * interval '1 second'
        WHERE due > statement_timestamp() + $1::int8 * interval '1 second'
        """,
        [.int8(delaySeconds)]
    )

    /// Has those wait to be published whose time has come, each as of the newest version.
    ///
    /// Any copy may do so at any time. Who is being changed at this moment is left for later: the
    /// lock keeps the outbox in the order of the user's versions, and nobody is waited for.
    static let putBack = PostgresStatement(
        """
        WITH due AS (
            SELECT user_id FROM feed_repetitions WHERE due <= statement_timestamp()
            FOR UPDATE SKIP LOCKED
        ), repeated AS (
            SELECT due.user_id, known.version
            FROM due
            CROSS JOIN LATERAL (
                SELECT version FROM user_versions WHERE user_id = due.user_id
                FOR NO KEY UPDATE SKIP LOCKED
            ) AS known
        ), waiting AS (
            INSERT INTO unpublished_changes (user_id, version)
            SELECT user_id, version FROM repeated ORDER BY user_id
        )
        DELETE FROM feed_repetitions WHERE user_id IN (SELECT user_id FROM repeated)
        """
    )
}
