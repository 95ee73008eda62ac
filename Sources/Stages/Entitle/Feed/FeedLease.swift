import Foundation
import Postgres
import Synchronization

/// The right to publish, which one copy of the worker has at a time.
///
/// Who loses the database cannot know whether another has begun, and of one that was killed a
/// request may still be on its way to the broker. So the right ends by itself, by the database's
/// clock, a few seconds after it was last renewed, and nothing is handed over late in it. What was
/// handed over stands beside it until it is confirmed: of what never was, whoever takes the right
/// next takes care (`FeedRepetitions`).
final class FeedLease: Sendable {
    private let holder = UUID().uuidString
    /// Before the database was asked that last gave the right; nil where it was not given.
    private let confirmed = Mutex<ContinuousClock.Instant?>(nil)

    /// How long others wait for one that does not renew the right any more.
    static let lengthSeconds: Int64 = 5
    /// How often it is renewed while records are on their way.
    static let renewalInterval = Duration.seconds(1)
    /// How long after the database was asked, at the latest, records are handed over.
    ///
    /// What is left of the right then is for requests that are still on their way when this process
    /// dies. Where the broker stands still for longer than that, such a request may be served after
    /// the next copy's: who reads the changes passes over versions that it knows, and the states
    /// end in the newest again by a repetition.
    private static let handOverMax = Duration.seconds(2)

    /// Whether records may be handed over now.
    var isFresh: Bool {
        let confirmed = confirmed.withLock { $0 }
        return confirmed.map { ContinuousClock.now < $0 + Self.handOverMax } ?? false
    }

    /// Takes the right or keeps it where changes wait.
    ///
    /// The oldest of them count as handed over from here on, before any is. What counted so already
    /// was never confirmed, by this copy or by one that is gone, and is suspect.
    ///
    /// - Parameter changesMax: how many.
    /// - Returns: up to which place in the outbox changes are suspect; nil where none wait, and
    ///   where another copy has the right.
    func hold(changesMax: Int, _ connection: PostgresConnection) async throws -> Int64? {
        try await ask(
            """
            INSERT INTO feed_lease AS lease (holder, until, handed_over_through)
            SELECT $1, clock_timestamp() + $2::int8 * interval '1 second', max(id)
            FROM (
                SELECT id FROM unpublished_changes ORDER BY id LIMIT $3::int8
            ) AS oldest
            HAVING count(*) > 0
            ON CONFLICT (only_one) DO UPDATE
            SET holder = excluded.holder, until = excluded.until,
                handed_over_through = excluded.handed_over_through,
                suspect_through = greatest(lease.suspect_through, lease.handed_over_through)
            WHERE lease.holder = excluded.holder OR lease.until < clock_timestamp()
            RETURNING suspect_through
            """,
            [.int8(Int64(changesMax))],
            connection
        )
        .first?.int8(0)
    }

    /// Shortens a right that ends later than any that is given now: the clock has gone back since.
    ///
    /// A copy that lives renews it; of one that is gone it ends as it would have.
    static let shorten = PostgresStatement(
        """
        UPDATE feed_lease SET until = clock_timestamp() + $1::int8 * interval '1 second'
        WHERE only_one AND until > clock_timestamp() + $1::int8 * interval '1 second'
        """,
        [.int8(lengthSeconds)]
    )

    /// Keeps the right, also one that has ended and that nobody has taken since.
    func renew(_ connection: PostgresConnection) async throws {
        _ = try await ask(
            """
            UPDATE feed_lease SET until = clock_timestamp() + $2::int8 * interval '1 second'
            WHERE only_one AND holder = $1 RETURNING true
            """,
            [],
            connection
        )
    }

    private func ask(
        _ sql: String,
        _ more: [PostgresValue],
        _ connection: PostgresConnection
    ) async throws -> PostgresRows {
        let asked = ContinuousClock.now
        let values: [PostgresValue] = [.text(holder), .int8(Self.lengthSeconds)]
        let answer = try await connection.query(sql, values + more)
        confirmed.withLock { $0 = answer.isEmpty ? nil : asked }
        return answer
    }

    /// Takes from the outbox what the broker has acknowledged, if this copy has the right still.
    ///
    /// Another that has begun meanwhile has handed over the same, and is known by these rows to
    /// have done so until it confirms it. The lease's row is locked: nobody begins in between.
    func confirm(_ ids: [Int64]) -> PostgresStatement {
        PostgresStatement(
            """
            WITH held AS (
                UPDATE feed_lease SET handed_over_through = 0 WHERE only_one AND holder = $1
                RETURNING holder
            )
            DELETE FROM unpublished_changes
            WHERE id = ANY ($2::int8[]) AND EXISTS (SELECT FROM held)
            """,
            [.text(holder), .int8Array(ids)]
        )
    }

    /// Publishes the newest states of users at once and once more later, unless this copy has had
    /// the right all the time: what it wrote may lie behind what another has written since, or may
    /// yet come to lie there.
    func republish(_ userIDs: Set<String>) -> PostgresStatement {
        PostgresStatement(
            """
            WITH concerned AS (
                SELECT user_id, version FROM user_versions
                WHERE user_id = ANY ($1::text[])
                  AND NOT EXISTS (SELECT FROM feed_lease WHERE only_one AND holder = $2)
            ), later AS (
                \(FeedRepetitions.insert(from: "concerned", delay: "$3"))
            )
            INSERT INTO unpublished_changes (user_id, version)
            SELECT user_id, version FROM concerned
            """,
            [
                .textArray(Array(userIDs)), .text(holder),
                .int8(FeedRepetitions.delaySeconds),
            ]
        )
    }

    /// Lets another copy begin at once, unless something is under way of which nobody knows what
    /// becomes of it: then the right ends by itself, as after a crash.
    var release: PostgresStatement {
        PostgresStatement(
            """
            UPDATE feed_lease SET until = clock_timestamp()
            WHERE only_one AND holder = $1 AND handed_over_through = 0
            """,
            [.text(holder)]
        )
    }
}
