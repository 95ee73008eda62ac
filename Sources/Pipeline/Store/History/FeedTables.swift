package import AppStore
package import Postgres

/// The table `unpublished_changes`: the outbox of the feed.
///
/// A trigger adds each new change; a row is removed when the broker has acknowledged its record.
package enum OutboxTable {
    /// A change with the ID of its row in the outbox, and the newest version of its user.
    package typealias Change = (id: Int64, change: RecordedChange, newestVersion: Int64)

    /// Changes that are published together, and the present entitlements of their users, from one snapshot.
    package struct Batch: Sendable {
        package let changes: [Change]
        package let held: [HeldEntitlements.Row]
        /// The subscriptions of these users.
        ///
        /// `nil` if they were not asked for.
        package let subscriptions: [Subscription]?
    }

    package static let changesMax = 500

    /// Reads the changes that are marked as sent.
    package static func read(on connection: PostgresConnection, listsSubscriptions: Bool) async throws -> Batch {
        var pipeline = Pipeline()
        let changes = pipeline.add(changes)
        let held = pipeline.add(held)
        let subscriptions = listsSubscriptions ? pipeline.add(subscriptions) : nil
        let answers = try await connection.snapshot { [pipeline] in try await $0.run(pipeline) }
        return Batch(
            changes: Array(answers[changes]), held: Array(answers[held]),
            subscriptions: subscriptions.map { Array(answers[$0]) })
    }

    /// The relation of the changes that are marked as sent, without later ones.
    private static let waiting = """
        (
            SELECT id, user_id, version FROM unpublished_changes
            WHERE id <= (SELECT handed_over_through FROM feed_lease WHERE only_one)
            ORDER BY id LIMIT \(changesMax)
        )
        """

    /// The oldest changes, in order.
    static let changes = Statement<Void, Change>(
        returning: RowReader({ ($0, $1, $2) }, "id", RecordedChange.reader, "newest_version"),
        """
        SELECT waiting.id, \(RecordedChange.reader.names(of: "change")), newest.version AS newest_version
        FROM \(waiting) AS waiting
        CROSS JOIN LATERAL (
            SELECT *, CASE cause WHEN 'catalog' THEN (
                SELECT plan FROM catalog_versions WHERE catalog_versions.version = known.catalog_version
            ) END AS plan
            FROM changes AS known
            WHERE known.user_id = waiting.user_id AND known.version = waiting.version
            OFFSET 0
        ) AS change
        CROSS JOIN LATERAL (
            SELECT version FROM user_versions WHERE user_id = waiting.user_id OFFSET 0
        ) AS newest
        ORDER BY waiting.id
        """)

    /// The present entitlements of these users.
    static let held = Statement<Void, HeldEntitlements.Row>(
        returning: HeldEntitlements.reader,
        HeldEntitlements.select(from: "(SELECT DISTINCT user_id FROM \(waiting) AS waiting) AS asked"))

    /// A row of the view `subscriptions`, as JSON without nulls.
    package typealias Subscription = (userID: Identifier, json: JSONText)

    /// Maximum subscriptions of a user in a state.
    package static let subscriptionsMax = 100

    /// The subscriptions of these users, those that give access longest first; one more than the maximum shows that
    /// some are left out.
    static let subscriptions = Statement<Void, Subscription>(
        returning: RowReader({ ($0, $1) }, "user_id", "json"),
        """
        SELECT asked.user_id, stated.json
        FROM (SELECT DISTINCT user_id FROM \(waiting) AS waiting) AS asked
        CROSS JOIN LATERAL (
            SELECT json_strip_nulls(row_to_json(known)) AS json FROM subscriptions AS known
            WHERE known.user_id = asked.user_id
            ORDER BY known.active_until DESC NULLS LAST, known.environment, known.bundle_id,
                known.original_transaction_id
            LIMIT \(subscriptionsMax + 1)
        ) AS stated
        """)

    package static let oldest = Statement<Void, Int64>(
        returning: RowReader("id"), "SELECT id FROM unpublished_changes ORDER BY id LIMIT 1")

    /// The unpublished part of the outbox.
    package struct Backlog: Sendable {
        /// An upper bound of the number of changes.
        package let count: Int64
        /// The age of the oldest change in seconds; 0 if the outbox is empty.
        package let oldestSeconds: Double
        /// The seconds since the oldest boundary that is not announced; 0 if none is due.
        package let boundaryDelaySeconds: Double
    }

    /// Computes the backlog from the ends of the outbox, at a cost that does not depend on its length.
    package static let backlog = Statement<Void, Backlog>(
        returning: RowReader(Backlog.init, "count", "oldest_seconds", "boundary_delay_seconds"),
        """
        SELECT coalesce(newest.id - oldest.id + 1, 0) AS count,
               greatest(
                   extract(epoch FROM clock_timestamp() - oldest.changed_at), 0
               )::float8 AS oldest_seconds,
               coalesce(extract(epoch FROM statement_timestamp() - (
                   SELECT min(at) FROM due_boundaries(statement_timestamp(), '0', 1)
               )), 0)::float8 AS boundary_delay_seconds
        FROM (SELECT 1) AS always
        LEFT JOIN LATERAL (
            SELECT id FROM unpublished_changes ORDER BY id DESC LIMIT 1
        ) AS newest ON true
        LEFT JOIN LATERAL (
            SELECT waiting.id, change.changed_at
            FROM (SELECT * FROM unpublished_changes ORDER BY id LIMIT 1) AS waiting
            CROSS JOIN LATERAL (
                SELECT changed_at FROM changes
                WHERE user_id = waiting.user_id AND version = waiting.version OFFSET 0
            ) AS change
        ) AS oldest ON true
        """)
}

/// The row of `feed_lease`: the copy of the worker that publishes, the end of its lease, and the
/// last change that it has sent.
package enum FeedLeaseTable {
    package typealias Request = (holder: String, changesMax: Int)

    /// Seconds that other copies wait for a holder that no longer renews the lease.
    package static let lengthSeconds: Int64 = 5

    private static func length<Input>() -> Parameter<Input> { .value("length_seconds") { _ in lengthSeconds } }

    private static let end = "clock_timestamp() + $length_seconds * interval '1 second'"

    /// Acquires or renews the lease if there are changes to publish.
    ///
    /// Marks the oldest changes as sent before they are sent. Changes that are already marked were
    /// never confirmed, by this copy or a killed one, and are suspect.
    ///
    /// Returns the highest outbox ID of suspect changes, or no row if the outbox is empty or
    /// another copy has the lease. That check does not lock the lease's row, so it never waits for
    /// the other copy's transaction.
    package static let hold = Statement<Request, Int64>(
        [.value("holder", \.holder), length(), .value("changes_max", \.changesMax)],
        returning: RowReader("suspect_through"),
        """
        INSERT INTO feed_lease AS lease (holder, until, handed_over_through)
        SELECT $holder, \(end), max(id)
        FROM (
            SELECT id FROM unpublished_changes
            WHERE NOT EXISTS (
                SELECT FROM feed_lease
                WHERE only_one AND holder <> $holder AND until >= clock_timestamp()
            )
            ORDER BY id LIMIT $changes_max
        ) AS oldest
        HAVING count(*) > 0
        ON CONFLICT (only_one) DO UPDATE
        SET holder = excluded.holder, until = excluded.until,
            handed_over_through = excluded.handed_over_through,
            suspect_through = greatest(lease.suspect_through, lease.handed_over_through)
        WHERE lease.holder = excluded.holder OR lease.until < clock_timestamp()
        RETURNING suspect_through
        """)

    /// Shortens a lease that ends later than a lease acquired now, which happens after the clock was set back.
    ///
    /// A running copy renews its lease; the lease of a killed copy expires after the normal time.
    package static let shorten = Statement<Void, Void>(
        [length()], "UPDATE feed_lease SET until = \(end) WHERE only_one AND until > \(end)")

    /// Renews the lease, even after its end, unless another copy has acquired it; then returns no row.
    package static let renew = Statement<String, Bool>(
        [.value("holder"), length()], returning: RowReader("is_held"),
        """
        UPDATE feed_lease SET until = \(end) WHERE only_one AND holder = $holder
        RETURNING true AS is_held
        """)

    /// Removes acknowledged changes from the outbox, if the holder still has the lease.
    ///
    /// Another copy that has acquired the lease has sent the same changes; it needs these rows
    /// until it confirms them. Locks the lease's row, so that no copy can begin in between.
    package static let confirm = Statement<(holder: String, ids: [Int64]), Void>(
        [.value("holder", \.holder), .values("ids", \.ids)],
        """
        WITH held AS (
            UPDATE feed_lease SET handed_over_through = 0 WHERE only_one AND holder = $holder
            RETURNING holder
        )
        DELETE FROM unpublished_changes WHERE id = ANY ($ids) AND EXISTS (SELECT FROM held)
        """)

    /// Publishes the newest states of users now and once more later, if the holder no longer has the lease.
    ///
    /// After losing the lease, its records may follow those of another copy, now or later.
    package static let republish = Statement<(holder: String, userIDs: [Identifier]), Void>(
        [.value("holder", \.holder), .values("users", \.userIDs), FeedRepetitionTable.delay()],
        """
        WITH concerned AS (
            SELECT user_id, version FROM user_versions
            WHERE user_id = ANY ($users)
              AND NOT EXISTS (SELECT FROM feed_lease WHERE only_one AND holder = $holder)
        ), later AS (
            \(FeedRepetitionTable.insert(from: "concerned"))
        )
        INSERT INTO unpublished_changes (user_id, version)
        SELECT user_id, version FROM concerned
        """)

    /// Ends the lease, so that another copy can begin at once.
    ///
    /// If a send has an unknown outcome, the lease expires instead, as after a crash.
    package static let release = Statement<String, Void>(
        [.value("holder")],
        """
        UPDATE feed_lease SET until = clock_timestamp()
        WHERE only_one AND holder = $holder AND handed_over_through = 0
        """)
}

/// The table `feed_repetitions`: users whose newest state is published once more, after a delay.
///
/// Records that a copy had sent when it was killed may wait in a socket's buffer, and reach the
/// broker after those of the next copy about the same users. The compacted topic of the states
/// would then end in an old version until the user's next change. So the confirmation of the later
/// records also adds these users to the table, and their newest state is published when no record
/// of the killed copy can be in flight any more.
package enum FeedRepetitionTable {
    /// The delay of the state after the broker's acknowledgement, in seconds.
    ///
    /// A hanging broker also delays the next copy: after its acknowledgement only the network can
    /// delay records of the killed copy. Linux retransmits unconfirmed data of a dead process for
    /// about 100 s (`tcp_orphan_retries`, ip-sysctl).
    package static let delaySeconds: Int64 = 120

    fileprivate static func delay<Input>() -> Parameter<Input> { .value("delay_seconds") { _ in delaySeconds } }

    /// Adds users; the delay of a user already present starts again.
    package static let add = Statement<[Identifier], Void>(
        [.rows("concerned", [Column("user_id", \.self)]), delay()], insert(from: "$concerned"))

    /// - Parameter users: a relation with a column `user_id`.
    /// - Returns: SQL that adds the users ordered by ID, so that two sessions never deadlock.
    fileprivate static func insert(from users: String) -> String {
        """
        INSERT INTO feed_repetitions AS known (user_id, due)
        SELECT user_id, clock_timestamp() + $delay_seconds * interval '1 second'
        FROM \(users) ORDER BY user_id
        ON CONFLICT (user_id) DO UPDATE SET due = greatest(known.due, excluded.due)
        """
    }

    /// Limits all delays to the delay of a user added now, in case the clock was set back.
    package static let shorten = Statement<Void, Void>(
        [delay()],
        """
        UPDATE feed_repetitions SET due = clock_timestamp() + $delay_seconds * interval '1 second'
        WHERE due > statement_timestamp() + $delay_seconds * interval '1 second'
        """)

    /// Adds due users to the outbox, each with the newest version.
    ///
    /// Any copy may do this at any time. A user whose rows are being changed is skipped until
    /// later, so the statement never waits. The lock keeps the outbox in the order of the user's
    /// versions.
    package static let publishDue = Statement(
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
        """)
}
