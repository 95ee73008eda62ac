import AppStore
package import Entitlements
import Postgres

/// Rows that `pipeline rebuild` reads and writes when it derives facts from their contents again.
extension TransactionTable {
    package static let read = PurchaseScope.read(reader, from: "transactions")

    /// The purchases of transactions whose rows were not found in the expected purchases.
    package static let scopes = Statement<[TransactionFact], PurchaseScope>(
        [.rows("asked", key)], returning: PurchaseScope.reader,
        """
        SELECT known.environment, known.original_transaction_id
        FROM $asked
        CROSS JOIN LATERAL (
            SELECT * FROM transactions AS known
            WHERE \(key.equal("known", "asked"))
            OFFSET 0
        ) AS known
        """)

    /// Overwrites rows of the table, including the immutable fields of an ID.
    package static let replace = Statement.replacing("transactions", key: key, terms: identity + lateIdentity + terms)
}
