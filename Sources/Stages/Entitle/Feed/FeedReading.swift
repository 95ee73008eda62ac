import Holdings
import Postgres

/// The statements that read what waits to be published, all in one snapshot.
enum FeedReading {
    /// How many changes are published together.
    static let changesMax = 500

    /// None but those that count as handed over, however many have come since.
    private static let waiting = """
        (
            SELECT id, user_id, version FROM unpublished_changes
            WHERE id <= (SELECT handed_over_through FROM feed_lease WHERE only_one)
            ORDER BY id LIMIT \(changesMax)
        )
        """

    /// The place of the oldest change in the outbox.
    static let oldest = PostgresStatement("SELECT id FROM unpublished_changes ORDER BY id LIMIT 1")

    /// The oldest changes, in their order.
    static let changes = PostgresStatement(
        """
        SELECT waiting.id, waiting.user_id, waiting.version, change.environment, change.bundle_id,
               change.original_transaction_id, change.entitlement_key, change.old_periods,
               change.new_periods, change.cause, change.cause_id, change.catalog_version::int8,
               change.source_topic, change.source_partition::int8, change.source_offset,
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

    /// Their users, each with the newest version.
    static let users = PostgresStatement(
        """
        SELECT asked.user_id, known.version
        FROM (SELECT DISTINCT user_id FROM \(waiting) AS waiting) AS asked
        CROSS JOIN LATERAL (
            SELECT version FROM user_versions WHERE user_id = asked.user_id OFFSET 0
        ) AS known
        """
    )

    /// What these users hold.
    static let held = PostgresStatement(
        HeldReading.select(from: "(SELECT DISTINCT user_id FROM \(waiting) AS waiting) AS asked")
    )

    /// How many changes wait, at most, and how many seconds the oldest has waited: by the ends of
    /// the outbox, however long it is.
    static let backlog = PostgresStatement(
        """
        SELECT coalesce(newest.id - oldest.id + 1, 0),
               greatest(
                   extract(epoch FROM clock_timestamp() - oldest.changed_at), 0)::float8
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
