import Foundation
import Postgres
import Worker

/// The right to publish, which one copy of the worker has at a time.
///
/// Who loses the database cannot know whether another has begun, and records that were handed over
/// may still be on their way. So the right ends by itself, by the database's clock, and nothing is
/// handed over so late in it that it could be delivered after it.
struct FeedLease: Sendable {
    private let holder = UUID().uuidString

    /// How long after the database was asked for the right, at the latest, records are handed over.
    static let handOverMax = Duration.seconds(5)
    /// For a request that was given up here and is still on its way to the broker.
    private static let reserve = Duration.seconds(9)
    private static let seconds = Int64(
        (handOverMax + OutboxLimits.deliveryMax + reserve) / .seconds(1)
    )

    /// Takes the right or keeps it where changes wait; the answer is empty where none do, or where
    /// another copy has it.
    var hold: PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO feed_lease AS lease (holder, until)
            SELECT $1, clock_timestamp() + $2::int8 * interval '1 second'
            WHERE EXISTS (SELECT FROM unpublished_changes)
            ON CONFLICT (only_one) DO UPDATE SET holder = excluded.holder, until = excluded.until
            WHERE lease.holder = excluded.holder OR lease.until < clock_timestamp()
            RETURNING true
            """,
            [.text(holder), .int8(Self.seconds)]
        )
    }

    /// The answer is empty where the right has passed to another meanwhile.
    var isStillHeld: PostgresStatement {
        PostgresStatement(
            "SELECT true FROM feed_lease WHERE holder = $1 AND until > clock_timestamp()",
            [.text(holder)]
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
