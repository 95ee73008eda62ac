import AppStore
package import Entitlements
import Postgres

/// What `pipeline rebuild` reads and writes where it makes facts of their contents again.
extension TransactionTable {
    /// All transactions of scopes.
    package static let read = Statement<[PurchaseScope], TransactionFact>(
        [.rows("asked", PurchaseScope.columns)],
        returning: reader,
        "SELECT \(reader.names(of: "known")) \(PurchaseScope.lookUp("transactions"))"
    )

    /// In which purchase the row of a transaction lies.
    package struct Position: Sendable {
        /// Of the transaction in what was asked.
        package let index: Int
        package let scope: PurchaseScope
    }

    /// Where rows lie that were not found in the purchases of which they should be.
    package static let positions = Statement<[TransactionFact], Position>(
        [.rows("asked", [.index] + key)],
        returning: RowReader { columns in
            let index = columns("index", Int.self)
            let environment = columns("environment", Environment.self)
            let original = columns("original_transaction_id", Identifier.self)
            return { row in
                Position(
                    index: row[index],
                    scope: PurchaseScope(
                        environment: row[environment],
                        originalTransactionID: row[original]
                    )
                )
            }
        },
        """
        SELECT asked.index, known.environment, known.original_transaction_id
        FROM $asked
        CROSS JOIN LATERAL (
            SELECT * FROM transactions AS known
            WHERE \(key.equal("known", "asked"))
            OFFSET 0
        ) AS known
        """
    )

    /// Writes facts over whatever the table says, also of what never changes for an ID.
    package static let replace = Statement.replacing(
        "transactions",
        key: key,
        terms: identity + lateIdentity + terms
    )
}
