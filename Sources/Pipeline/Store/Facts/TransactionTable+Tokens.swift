import AppStore
package import Entitlements
import Postgres

extension TransactionTable {
    /// Counts the seats' transactions whose account token also appears in a purchaser's transaction.
    ///
    /// The purchase is found through `ownership_facts`, which has an index by token and is never
    /// older than `transactions`. An app may send one token for all users, so only some of a
    /// token's transactions are read.
    package static let countPurchasersTokens = Statement<[TransactionFact], Int>(
        [
            .rows(
                "assigned",
                [
                    Column("environment", \.key.environment), Column("bundle_id", \.key.bundleID),
                    Column("product_id", \.identity.productID), Column("account_token", \.appAccountToken),
                ])
        ], returning: RowReader("count"),
        """
        SELECT count(*) FROM $assigned
        WHERE EXISTS (
            SELECT FROM (
                SELECT * FROM ownership_facts AS named
                WHERE named.account_token = assigned.account_token
                    AND named.environment = assigned.environment
                    AND named.bundle_id = assigned.bundle_id
                LIMIT 1000
            ) AS named
            CROSS JOIN LATERAL (
                SELECT FROM transactions AS fact
                WHERE fact.transaction_id = named.transaction_id
                    AND fact.environment = named.environment
                    AND fact.bundle_id = named.bundle_id AND fact.track = named.track
                    AND fact.product_id = assigned.product_id
                    AND fact.ownership_type = '\(OwnershipType.purchased.rawValue)'
                OFFSET 0
            ) AS purchased
        )
        """)
}
