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
        [.value("user")], returning: RowReader(Count.init, "place", "rows"),
        """
        SELECT place, rows FROM (
            \(places.enumerated().map { number, place in
                "SELECT \(number) AS number, '\(place.table)' AS place, count(*) AS rows "
                    + "FROM \(place.table) WHERE \(place.condition)"
            }.joined(separator: "\nUNION ALL "))
        ) AS held ORDER BY number
        """)

    private static let places: [(table: String, condition: String)] = [
        ("account_links", "user_id = $user"), ("ownership_claims", "user_id = $user"),
        ("ownership_facts", "account_token = lower($user)"), ("ownership_renewals", "account_token = lower($user)"),
        (
            "owners",
            """
            user_id = $user AND original_transaction_id IN (
                SELECT original_transaction_id FROM entitlements WHERE user_id = $user
                UNION ALL
                SELECT original_transaction_id FROM ledger WHERE user_id = $user
            )
            """
        ), ("entitlements", "user_id = $user"), ("stacked_purchases", "user_id = $user"), ("grants", "user_id = $user"),
        ("ledger", "user_id = $user"), ("ledger_debits", "user_id = $user"), ("changes", "user_id = $user"),
        ("unpublished_changes", "user_id = $user"), ("user_versions", "user_id = $user"),
        ("feed_repetitions", "user_id = $user"),
        (
            "dead_letters",
            """
            EXISTS (
                SELECT FROM entitlements AS held
                WHERE held.user_id = $user
                  AND held.original_transaction_id = dead_letters.original_transaction_id
            )
            """
        ), ("forgotten_users", "user_sha256 = sha256(convert_to($user, 'UTF8'))"),
    ]

    /// A token or an ID that identifies the user.
    package struct SearchKey: Equatable, Sendable {
        /// `link …`, `claim` or `purchase`; for a search key `account_token`, `app_transaction_id`
        /// or `original_transaction_id`.
        package let kind: String
        package let key: Identifier
        /// The environment; empty means any.
        package let environment: String
        package let bundleID: Identifier
    }

    private static let identifier = RowReader(SearchKey.init, "kind", "key", "environment", "bundle_id")

    /// The identifiers by which purchases are the user's, the first of each kind up to the limit.
    package static let identifiers = Statement<(user: Identifier, limit: Int), SearchKey>(
        [.value("user", \.user), .value("limit", \.limit)], returning: identifier,
        """
        (SELECT 'link ' || kind AS kind, key, environment, bundle_id
         FROM account_links WHERE user_id = $user ORDER BY 1, 2, 3, 4 LIMIT $limit)
        UNION ALL
        (SELECT 'claim', transaction_id, environment, bundle_id
         FROM ownership_claims WHERE user_id = $user ORDER BY 2, 3, 4 LIMIT $limit)
        UNION ALL
        (SELECT DISTINCT 'purchase', original_transaction_id, environment, bundle_id
         FROM entitlements WHERE user_id = $user ORDER BY 2, 3, 4 LIMIT $limit)
        """)
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
        "SELECT number, links, claims, tokens FROM forget_user($user, $by, $reason)")

    /// The given account tokens that are IDs of forgotten users: if tokens are user IDs, forgetting
    /// removes them from the facts, but never from Apple's signed contents.
    package static let tokens = Statement<[AccountToken], AccountToken>(
        [.values("tokens") { $0 }], returning: RowReader("token"),
        """
        SELECT token FROM unnest($tokens) AS token
        WHERE EXISTS (
            SELECT FROM forgotten_users
            WHERE user_sha256 IN (
                sha256(convert_to(token, 'UTF8')), sha256(convert_to(upper(token), 'UTF8'))
            )
        )
        """)
}
