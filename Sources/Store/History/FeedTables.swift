package import AppStore
package import Postgres

/// The table `unpublished_changes`: the outbox of the feed.
///
/// A trigger fills it with each new change; a row goes when the broker has acknowledged what it
/// stands for.
package enum OutboxTable {
    /// A change that waits to be published.
    package struct Change: Sendable {
        /// Of its row in the outbox.
        package let id: Int64
        package let userID: Identifier
        package let version: Int64
        package let environment: String
        package let bundleID: Identifier?
        package let originalTransactionID: Identifier?
        package let key: Identifier
        package let old: [PostgresPeriod]
        package let new: [PostgresPeriod]
        package let cause: String
        package let causeID: String?
        package let catalogVersion: Int64?
        package let source: (topic: String, partition: Int64, offset: Int64)?
        package let changedAt: StoredTime
    }

    /// Changes that are published together, and what their users hold now; all in one snapshot.
    package struct Batch: Sendable {
        package let changes: [Change]
        package let versions: [(userID: Identifier, version: Int64)]
        package let held: [HeldEntitlements.Row]
    }

    /// How many changes are published together.
    package static let changesMax = 500

    /// Reads the oldest changes that count as handed over.
    package static func read(on connection: PostgresConnection) async throws -> Batch {
        var pipeline = Pipeline()
        let changes = pipeline.add(changes)
        let versions = pipeline.add(versions)
        let held = pipeline.add(held)
        let answers = try await connection.snapshot { [pipeline] in
            try await $0.run(pipeline)
        }
        return Batch(
            changes: Array(answers[changes]),
            versions: Array(answers[versions]),
            held: Array(answers[held])
        )
    }

    /// None but those that count as handed over, however many have come since.
    private static let waiting = """
        (
            SELECT id, user_id, version FROM unpublished_changes
            WHERE id <= (SELECT handed_over_through FROM feed_lease WHERE only_one)
            ORDER BY id LIMIT \(changesMax)
        )
        """

    /// The oldest changes, in their order.
    static let changes = Statement<Void, Change>(
        returning: changeReader,
        """
        SELECT waiting.id, waiting.user_id, waiting.version, change.environment, change.bundle_id,
               change.original_transaction_id, change.entitlement_key, change.old_periods,
               change.new_periods, change.cause, change.cause_id, change.catalog_version,
               change.source_topic, change.source_partition, change.source_offset,
               change.changed_at
        FROM \(waiting) AS waiting
        CROSS JOIN LATERAL (
            SELECT * FROM changes AS known
            WHERE known.user_id = waiting.user_id AND known.version = waiting.version
            OFFSET 0
        ) AS change
        ORDER BY waiting.id
        """
    )

    private static let changeReader = RowReader<Change> { columns in
        let id = columns("id", Int64.self)
        let userID = columns("user_id", Identifier.self)
        let version = columns("version", Int64.self)
        let environment = columns("environment", String.self)
        let bundleID = columns("bundle_id", Identifier?.self)
        let original = columns("original_transaction_id", Identifier?.self)
        let key = columns("entitlement_key", Identifier.self)
        let old = columns("old_periods", [PostgresPeriod].self)
        let new = columns("new_periods", [PostgresPeriod].self)
        let cause = columns("cause", String.self)
        let causeID = columns("cause_id", String?.self)
        let catalogVersion = columns("catalog_version", Int64?.self)
        let topic = columns("source_topic", String?.self)
        let partition = columns("source_partition", Int64?.self)
        let offset = columns("source_offset", Int64?.self)
        let changedAt = columns("changed_at", StoredTime.self)
        return { row in
            Change(
                id: row[id],
                userID: row[userID],
                version: row[version],
                environment: row[environment],
                bundleID: row[bundleID],
                originalTransactionID: row[original],
                key: row[key],
                old: row[old],
                new: row[new],
                cause: row[cause],
                causeID: row[causeID],
                catalogVersion: row[catalogVersion],
                source: row[topic].map { ($0, row[partition] ?? 0, row[offset] ?? 0) },
                changedAt: row[changedAt]
            )
        }
    }

    /// The users of those changes, each with the newest version.
    static let versions = Statement<Void, (userID: Identifier, version: Int64)>(
        returning: RowReader { columns in
            let userID = columns("user_id", Identifier.self)
            let version = columns("version", Int64.self)
            return { row in (row[userID], row[version]) }
        },
        """
        SELECT asked.user_id, known.version
        FROM (SELECT DISTINCT user_id FROM \(waiting) AS waiting) AS asked
        CROSS JOIN LATERAL (
            SELECT version FROM user_versions WHERE user_id = asked.user_id OFFSET 0
        ) AS known
        """
    )

    /// What these users hold.
    static let held = Statement<Void, HeldEntitlements.Row>(
        returning: HeldEntitlements.reader,
        HeldEntitlements.select(
            from: "(SELECT DISTINCT user_id FROM \(waiting) AS waiting) AS asked"
        )
    )

    /// The ID of the oldest change in the outbox.
    package static let oldest = Statement<Void, Int64>(
        returning: RowReader("id"),
        "SELECT id FROM unpublished_changes ORDER BY id LIMIT 1"
    )

    /// How much waits.
    package struct Backlog: Sendable {
        /// At most.
        package let count: Int64
        /// 0 where none waits.
        package let oldestSeconds: Double
    }

    /// By the ends of the outbox, however long it is.
    package static let backlog = Statement<Void, Backlog>(
        returning: RowReader { columns in
            let count = columns("count", Int64.self)
            let oldest = columns("oldest_seconds", Double.self)
            return { row in Backlog(count: row[count], oldestSeconds: row[oldest]) }
        },
        """
        SELECT coalesce(newest.id - oldest.id + 1, 0) AS count,
               greatest(
                   extract(epoch FROM clock_timestamp() - oldest.changed_at), 0
               )::float8 AS oldest_seconds
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
        """
    )
}

/// The row of `feed_lease`: which copy of the worker publishes, until when, and what it has handed
/// over to the broker.
package enum FeedLeaseTable {
    package struct Request: Sendable {
        package let holder: String
        package let changesMax: Int

        package init(holder: String, changesMax: Int) {
            self.holder = holder
            self.changesMax = changesMax
        }
    }

    /// How long others wait for one that does not renew the lease any more.
    package static let lengthSeconds: Int64 = 5

    private static func length<Input>() -> Parameter<Input> {
        .value("length_seconds") { _ in lengthSeconds }
    }

    private static let end = "clock_timestamp() + $length_seconds * interval '1 second'"

    /// Takes the lease or keeps it where changes wait.
    ///
    /// The oldest of them count as handed over from here on, before any is. What counted so already
    /// was never confirmed, by this copy or by one that is gone, and is suspect.
    ///
    /// Answers up to which ID in the outbox changes are suspect; nothing where none wait, and where
    /// another copy has the lease: that is seen without the lock of the lease's row, for which one
    /// would wait as long as the other's transaction lasts.
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
        """
    )

    /// Shortens a lease that ends later than any that is given now: the clock has gone back since.
    ///
    /// A copy that lives renews it; of one that is gone it ends as it would have.
    package static let shorten = Statement<Void, Void>(
        [length()],
        "UPDATE feed_lease SET until = \(end) WHERE only_one AND until > \(end)"
    )

    /// Keeps the lease, also one that has ended and that nobody has taken since; answers nothing
    /// where another copy has it.
    package static let renew = Statement<String, Bool>(
        [.value("holder"), length()],
        returning: RowReader("is_held"),
        """
        UPDATE feed_lease SET until = \(end) WHERE only_one AND holder = $holder
        RETURNING true AS is_held
        """
    )

    /// Removes from the outbox what the broker has acknowledged, if the holder has the lease still.
    ///
    /// Another that has begun meanwhile has handed over the same, and is known by these rows to
    /// have done so until it confirms it. The lease's row is locked: nobody begins in between.
    package static let confirm = Statement<(holder: String, ids: [Int64]), Void>(
        [.value("holder", \.holder), .values("ids", \.ids)],
        """
        WITH held AS (
            UPDATE feed_lease SET handed_over_through = 0 WHERE only_one AND holder = $holder
            RETURNING holder
        )
        DELETE FROM unpublished_changes WHERE id = ANY ($ids) AND EXISTS (SELECT FROM held)
        """
    )

    /// Publishes the newest states of users at once and once more later, unless the holder has had
    /// the lease all the time: what it wrote may lie behind what another has written since, or may
    /// yet come to lie there.
    package static let republish = Statement<(holder: String, userIDs: [Identifier]), Void>(
        [
            .value("holder", \.holder), .values("users", \.userIDs),
            FeedRepetitionTable.delay(),
        ],
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
        """
    )

    /// Lets another copy begin at once, unless something is under way of which nobody knows what
    /// becomes of it: then the lease ends by itself, as after a crash.
    package static let release = Statement<String, Void>(
        [.value("holder")],
        """
        UPDATE feed_lease SET until = clock_timestamp()
        WHERE only_one AND holder = $holder AND handed_over_through = 0
        """
    )
}

/// The table `feed_repetitions`: users whose newest state is published once more, after a while.
///
/// What a copy had handed over when it was killed may lie in a socket's buffer, and be served after
/// what the next copy has published of the same users: the compacted topic of the states would end
/// in an older version than the newest, until the user's next change. So the users concerned are
/// noted together with the confirmation of what was published instead, and the newest state follows
/// when nothing of the killed copy can be under way any more.
package enum FeedRepetitionTable {
    /// How long after the broker's acknowledgement the state follows.
    ///
    /// A broker that stands still, stands still for the next copy too: from its acknowledgement on
    /// only the network can hold anything back. Of a process that is gone Linux sends again what is
    /// not confirmed for about 100 s (`tcp_orphan_retries`, ip-sysctl).
    package static let delaySeconds: Int64 = 120

    fileprivate static func delay<Input>() -> Parameter<Input> {
        .value("delay_seconds") { _ in delaySeconds }
    }

    /// Notes users; one that is noted already waits for longer.
    package static let add = Statement<[Identifier], Void>(
        [.rows("concerned", [Column("user_id", \.self)]), delay()],
        insert(from: "$concerned")
    )

    /// - Parameter users: a relation with a column `user_id`.
    /// - Returns: SQL that takes the users in their order, so that no two who note the same wait
    ///   for each other.
    fileprivate static func insert(from users: String) -> String {
        """
        INSERT INTO feed_repetitions AS known (user_id, due)
        SELECT user_id, clock_timestamp() + $delay_seconds * interval '1 second'
        FROM \(users) ORDER BY user_id
        ON CONFLICT (user_id) DO UPDATE SET due = greatest(known.due, excluded.due)
        """
    }

    /// Has nobody wait for longer than anybody who is noted now: the clock has gone back since.
    package static let shorten = Statement<Void, Void>(
        [delay()],
        """
        UPDATE feed_repetitions SET due = clock_timestamp() + $delay_seconds * interval '1 second'
        WHERE due > statement_timestamp() + $delay_seconds * interval '1 second'
        """
    )

    /// Puts those whose time has come into the outbox, each as of the newest version.
    ///
    /// Any copy may do so at any time. Who is being changed at this moment is left for later: the
    /// lock keeps the outbox in the order of the user's versions, and nobody is waited for.
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
        """
    )
}
