package import AppStore
import Entitlements
import Postgres

/// Raises the feed's versions after the loss of a database or a cluster.
///
/// A restored database assigns versions that were already published, and readers of the feed skip a
/// change with a known version as a repetition. So each user's versions must continue above the
/// published ones.
package enum FeedRecovery {
    /// A user, and the user's newest published version.
    package typealias Published = (userID: Identifier, version: Int64)

    private static let published: [Parameter<[Published]>] = [
        .rows("seen", [Column("user_id", \.userID), Column("version", \.version)])
    ]

    /// Raises versions in the database that are lower than the published ones.
    ///
    /// The newest change of each user is written once more, so that the user's state is published again.
    ///
    /// The caller must hold the users' locks.
    package static let raise = Statement<[Published], Void>(
        published,
        """
        WITH raised AS (
            UPDATE user_versions AS known SET version = seen.version + 1
            FROM $seen
            WHERE known.user_id = seen.user_id AND known.version < seen.version
            RETURNING known.user_id, known.version
        )
        INSERT INTO changes (
            user_id, version, environment, bundle_id, original_transaction_id, grant_id,
            entitlement_key, old_periods, new_periods, cause, cause_id,
            \(EntitlementTerms.columns.names()))
        SELECT raised.user_id, raised.version, newest.environment, newest.bundle_id,
            newest.original_transaction_id, newest.grant_id, newest.entitlement_key,
            newest.new_periods, newest.new_periods,
            CASE WHEN newest.grant_id IS NULL THEN 'rebuild' ELSE 'grant' END,
            CASE newest.cause WHEN 'time' THEN newest.grant_id::text ELSE newest.cause_id END,
            \(EntitlementTerms.columns.names(of: "newest"))
        FROM raised
        CROSS JOIN LATERAL (
            SELECT * FROM changes AS change WHERE change.user_id = raised.user_id
            ORDER BY version DESC LIMIT 1
        ) AS newest
        """)

    /// Adds the published versions of users that the database does not contain.
    package static let begin = Statement<[Published], Void>(
        published,
        """
        INSERT INTO user_versions (user_id, version) SELECT user_id, version FROM $seen
        ON CONFLICT (user_id) DO NOTHING
        """)

    /// The users whose states were added to the outbox: their number, and the last user ID.
    package struct Queued: Sendable {
        package let count: Int64
        /// The last of the added users.
        ///
        /// `nil` if no user was added.
        package let last: Identifier?
    }

    /// The number of users added to the outbox at once.
    package static let usersPerStep: Int64 = 1_000

    /// Adds the newest states of the next users after a given ID to the outbox, in the order of IDs.
    ///
    /// Waits for a user whose rows are being changed, so that the outbox keeps the order of
    /// versions.
    package static let queue = Statement<Identifier, Queued>(
        [.value("after"), .value("users_max") { _ in usersPerStep }],
        returning: RowReader(Queued.init, "count", "last"),
        """
        WITH next AS (
            SELECT user_id, version FROM user_versions AS known
            WHERE user_id > $after AND EXISTS (
                SELECT FROM changes
                WHERE changes.user_id = known.user_id AND changes.version = known.version
            )
            ORDER BY user_id LIMIT $users_max
            FOR NO KEY UPDATE
        ), queued AS (
            INSERT INTO unpublished_changes (user_id, version)
            SELECT user_id, version FROM next ORDER BY user_id
        )
        SELECT count(*) AS count, max(user_id) AS last FROM next
        """)
}
