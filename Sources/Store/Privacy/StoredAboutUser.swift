package import AppStore
import Postgres

package enum StoredAboutUser {
    package struct Count: Equatable, Sendable {
        package let table: String
        package let rows: Int64
    }

    /// Counts in the order in which a person would ask.
    ///
    /// A table without a row is included, with 0.
    package static let counts = Statement<Identifier, Count>(
        [.value("user")],
        returning: RowReader(Count.init, "place", "rows"),
        """
        SELECT place, rows FROM (
            SELECT 1 AS number, 'account_links' AS place, count(*) AS rows
            FROM account_links WHERE user_id = $user
            UNION ALL SELECT 2, 'ownership_claims', count(*)
            FROM ownership_claims WHERE user_id = $user
            UNION ALL SELECT 3, 'ownership_facts', count(*)
            FROM ownership_facts WHERE account_token = lower($user)
            UNION ALL SELECT 4, 'ownership_renewals', count(*)
            FROM ownership_renewals WHERE account_token = lower($user)
            UNION ALL SELECT 5, 'owners', count(*)
            FROM owners AS owner
            WHERE user_id = $user AND original_transaction_id IN (
                SELECT original_transaction_id FROM entitlements WHERE user_id = $user
                UNION ALL
                SELECT original_transaction_id FROM ledger WHERE user_id = $user
            )
            UNION ALL SELECT 6, 'entitlements', count(*)
            FROM entitlements WHERE user_id = $user
            UNION ALL SELECT 7, 'stacked_purchases', count(*)
            FROM stacked_purchases WHERE user_id = $user
            UNION ALL SELECT 8, 'grants', count(*)
            FROM grants WHERE user_id = $user
            UNION ALL SELECT 9, 'ledger', count(*)
            FROM ledger WHERE user_id = $user
            UNION ALL SELECT 10, 'ledger_debits', count(*)
            FROM ledger_debits WHERE user_id = $user
            UNION ALL SELECT 11, 'changes', count(*)
            FROM changes WHERE user_id = $user
            UNION ALL SELECT 12, 'unpublished_changes', count(*)
            FROM unpublished_changes WHERE user_id = $user
            UNION ALL SELECT 13, 'user_versions', count(*)
            FROM user_versions WHERE user_id = $user
            UNION ALL SELECT 14, 'feed_repetitions', count(*)
            FROM feed_repetitions WHERE user_id = $user
            UNION ALL SELECT 15, 'dead_letters', count(*)
            FROM dead_letters AS letter
            WHERE EXISTS (
                SELECT FROM entitlements AS held
                WHERE held.user_id = $user
                  AND held.original_transaction_id = letter.original_transaction_id
            )
            UNION ALL SELECT 16, 'forgotten_users', count(*)
            FROM forgotten_users WHERE user_sha256 = sha256(convert_to($user, 'UTF8'))
        ) AS held ORDER BY number
        """
    )

    /// A token or an ID that identifies the user.
    package struct SearchKey: Equatable, Sendable {
        /// `link …`, `claim` or `purchase`; for a search key `account_token`, `app_transaction_id`
        /// or `original_transaction_id`.
        package let kind: String
        package let key: Identifier
        /// Empty means any.
        package let environment: String
        package let bundleID: Identifier
    }

    private static let identifier = RowReader(
        SearchKey.init,
        "kind",
        "key",
        "environment",
        "bundle_id"
    )

    /// The identifiers by which purchases are the user's, the first of each kind up to the limit.
    package static let identifiers = Statement<(user: Identifier, limit: Int), SearchKey>(
        [.value("user", \.user), .value("limit", \.limit)],
        returning: identifier,
        """
        (SELECT 'link ' || kind AS kind, key, environment, bundle_id
         FROM account_links WHERE user_id = $user ORDER BY 1, 2, 3, 4 LIMIT $limit)
        UNION ALL
        (SELECT 'claim', transaction_id, environment, bundle_id
         FROM ownership_claims WHERE user_id = $user ORDER BY 2, 3, 4 LIMIT $limit)
        UNION ALL
        (SELECT DISTINCT 'purchase', original_transaction_id, environment, bundle_id
         FROM entitlements WHERE user_id = $user ORDER BY 2, 3, 4 LIMIT $limit)
        """
    )

    /// The keys by which data outside the database can be attributed to the user: the user's ID if
    /// it is an account token, links, claims, and present and former purchases.
    package static let searchKeys = Statement<Identifier, SearchKey>(
        [.value("user")],
        returning: identifier,
        """
        SELECT 'account_token' AS kind, lower($user) AS key,
               '' AS environment, '' AS bundle_id
        UNION
        SELECT kind, key, environment, bundle_id FROM account_links WHERE user_id = $user
        UNION
        SELECT 'original_transaction_id', original_transaction_id, environment, bundle_id
        FROM ownership_claims WHERE user_id = $user
        UNION
        SELECT 'original_transaction_id', original_transaction_id, environment, bundle_id
        FROM entitlements WHERE user_id = $user
        UNION
        SELECT 'original_transaction_id', original_transaction_id, environment, bundle_id
        FROM ledger WHERE user_id = $user
        UNION
        SELECT 'original_transaction_id', original_transaction_id, environment, bundle_id
        FROM changes WHERE user_id = $user AND original_transaction_id IS NOT NULL
        """
    )
}

/// The table `forgotten_users`, and the removal of a user's links.
package enum ForgottenUserTable {
    package typealias Request = (userID: Identifier, by: String, reason: String)

    package struct Forgotten: Equatable, Sendable {
        package let number: Int64
        package let links: Int64
        package let claims: Int64
        /// Facts that named the user by an account token, if tokens are user IDs.
        package let tokens: Int64
    }

    /// Removes the statements about the owners of these purchases, and records the removal: all in
    /// one transaction.
    ///
    /// Running copies of `link-worker` do the rest.
    package static let forget = Statement<Request, Forgotten>(
        [.value("user", \.userID), .value("by", \.by), .value("reason", \.reason)],
        returning: RowReader(Forgotten.init, "number", "links", "claims", "tokens"),
        "SELECT number, links, claims, tokens FROM forget_user($user, $by, $reason)"
    )

    /// The given account tokens that are IDs of forgotten users: if tokens are user IDs, forgetting
    /// removes them from the facts, but never from Apple's signed contents.
    package static let tokens = Statement<[AccountToken], AccountToken>(
        [.values("tokens") { $0 }],
        returning: RowReader("token"),
        """
        SELECT token FROM unnest($tokens) AS token
        WHERE EXISTS (
            SELECT FROM forgotten_users
            WHERE user_sha256 IN (
                sha256(convert_to(token, 'UTF8')), sha256(convert_to(upper(token), 'UTF8'))
            )
        )
        """
    )
}
