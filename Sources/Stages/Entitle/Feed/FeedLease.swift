import Foundation
import Postgres
import Synchronization

/// The right to publish, which one copy of the worker has at a time.
///
/// Who loses the database cannot know whether another has begun, and of one that was killed a
/// request may still be on its way to the broker. So the right ends by itself, by the database's
/// clock, a few seconds after it was last renewed, and nothing is handed over late in it.
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
    /// the next copy's: consumers pass over what has a lower version than they know.
    private static let handOverMax = Duration.seconds(2)

    /// Whether records may be handed over now.
    var isFresh: Bool {
        let confirmed = confirmed.withLock { $0 }
        return confirmed.map { ContinuousClock.now < $0 + Self.handOverMax } ?? false
    }

    /// Takes the right or keeps it where changes wait; false where none do, or where another copy
    /// has it.
    func hold(_ connection: PostgresConnection) async throws -> Bool {
        try await ask(
            """
            INSERT INTO feed_lease AS lease (holder, until)
            SELECT $1, clock_timestamp() + $2::int8 * interval '1 second'
            WHERE EXISTS (SELECT FROM unpublished_changes)
            ON CONFLICT (only_one) DO UPDATE SET holder = excluded.holder, until = excluded.until
            WHERE lease.holder = excluded.holder OR lease.until < clock_timestamp()
            RETURNING true
            """,
            connection
        )
    }

    /// Keeps the right, also one that has ended and that nobody has taken since.
    func renew(_ connection: PostgresConnection) async throws {
        _ = try await ask(
            """
            UPDATE feed_lease SET until = clock_timestamp() + $2::int8 * interval '1 second'
            WHERE holder = $1 RETURNING true
            """,
            connection
        )
    }

    private func ask(_ sql: String, _ connection: PostgresConnection) async throws -> Bool {
        let asked = ContinuousClock.now
        let values: [PostgresValue] = [.text(holder), .int8(Self.lengthSeconds)]
        let isHeld = try await connection.query(sql, values).first != nil
        confirmed.withLock { $0 = isHeld ? asked : nil }
        return isHeld
    }

    /// The answer is empty where the right has passed to another meanwhile.
    var isStillHeld: PostgresStatement {
        PostgresStatement("SELECT true FROM feed_lease WHERE holder = $1", [.text(holder)])
    }

    /// Puts the newest states of users into the outbox, unless this copy has had the right all the
    /// time: what it wrote may lie behind what another has written since.
    func republish(_ userIDs: Set<String>) -> PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO unpublished_changes (user_id, version)
            SELECT user_id, version FROM user_versions
            WHERE user_id = ANY ($1::text[])
              AND NOT EXISTS (SELECT FROM feed_lease WHERE holder = $2)
            """,
            [.textArray(Array(userIDs)), .text(holder)]
        )
    }

    /// Lets another copy begin at once.
    var release: PostgresStatement {
        PostgresStatement(
            "UPDATE feed_lease SET until = clock_timestamp() WHERE holder = $1",
            [.text(holder)]
        )
    }
}
