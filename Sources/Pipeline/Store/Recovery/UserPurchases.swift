package import AppStore
package import Entitlements

/// The purchases that may concern a user, even if they grant nothing.
package enum UserPurchases {
    /// The purchases in one environment that granted the user something, or that a link, a claim or
    /// an account token assigns to the user.
    ///
    /// Further purchases of the same Apple Accounts are included if the user owns them.
    package static let all = Statement<(userID: Identifier, environment: Environment), PurchaseKey>(
        [.value("subject", \.userID), .value("environment", \.environment)], returning: PurchaseKey.reader,
        """
        WITH tokens AS (
            SELECT lower($subject) AS token
            UNION
            SELECT key FROM account_links WHERE user_id = $subject AND kind = 'account_token'
        ),
        named AS (
            SELECT bundle_id, original_transaction_id FROM entitlements
            WHERE user_id = $subject AND environment = $environment
            UNION
            SELECT bundle_id, original_transaction_id FROM changes
            WHERE user_id = $subject AND environment = $environment AND grant_id IS NULL
            UNION
            SELECT bundle_id, original_transaction_id FROM ledger
            WHERE user_id = $subject AND environment = $environment
            UNION
            SELECT bundle_id, original_transaction_id FROM ownership_claims
            WHERE user_id = $subject AND environment = $environment
            UNION
            SELECT bundle_id, original_transaction_id FROM ownership_restores
            WHERE user_id = $subject AND environment = $environment
            UNION
            SELECT fact.bundle_id, fact.original_transaction_id
            FROM tokens JOIN ownership_facts AS fact ON fact.account_token = tokens.token
            WHERE fact.environment = $environment
            UNION
            SELECT fact.bundle_id, fact.original_transaction_id
            FROM tokens JOIN ownership_renewals AS renewal ON renewal.account_token = tokens.token
            JOIN ownership_facts AS fact
                ON fact.original_transaction_id = renewal.original_transaction_id
                AND fact.environment = renewal.environment
            WHERE renewal.environment = $environment
            UNION
            SELECT fact.bundle_id, fact.original_transaction_id
            FROM account_links AS link
            JOIN ownership_facts AS fact ON fact.original_transaction_id = link.key
            WHERE link.user_id = $subject AND link.kind = 'original_transaction_id'
              AND fact.environment = $environment AND link.environment IN ('', $environment)
              AND link.bundle_id IN ('', fact.bundle_id)
            UNION
            -- Nothing of it may have arrived.
            SELECT bundle_id, key FROM account_links
            WHERE user_id = $subject AND kind = 'original_transaction_id'
              AND environment IN ('', $environment) AND bundle_id <> ''
            UNION
            SELECT owner.bundle_id, owner.original_transaction_id
            FROM account_links AS link
            JOIN owners AS owner ON owner.app_transaction_id = link.key
            WHERE link.user_id = $subject AND link.kind = 'app_transaction_id'
              AND owner.environment = $environment AND link.environment IN ('', $environment)
              AND link.bundle_id IN ('', owner.bundle_id)
        )
        SELECT original_transaction_id, $environment AS environment, bundle_id FROM named
        UNION
        SELECT other.original_transaction_id, $environment, other.bundle_id
        FROM named
        JOIN owners AS owner
            ON owner.original_transaction_id = named.original_transaction_id
            AND owner.environment = $environment AND owner.bundle_id = named.bundle_id
        JOIN owners AS other
            ON other.app_transaction_id = owner.app_transaction_id
            AND other.environment = $environment AND other.bundle_id = owner.bundle_id
        WHERE other.user_id = $subject
        ORDER BY bundle_id, original_transaction_id
        """)
}
