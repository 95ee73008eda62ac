import Postgres

/// The statements that read what waits to be published, all in one snapshot.
enum FeedReading {
    /// How many changes are published together.
    static let changesMax = 500

    private static let waiting = """
        (SELECT id, user_id, version FROM unpublished_changes ORDER BY id LIMIT \(changesMax))
        """

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
        JOIN user_versions AS known USING (user_id)
        """
    )

    /// What these users hold.
    static let held = PostgresStatement(
        HeldReading.select(from: "(SELECT DISTINCT user_id FROM \(waiting) AS waiting) AS asked")
    )
}
