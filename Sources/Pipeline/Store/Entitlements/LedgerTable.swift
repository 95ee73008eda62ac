package import AppStore
package import Entitlements
import Postgres

/// The table `ledger`: the credits of each transaction of a consumable, once and permanently.
package enum LedgerTable {
    package typealias Row = (purchase: PurchaseKey, credit: LedgerCredit)

    private static let key: Columns<Row> =
        PurchaseKey.columns.of(\.purchase) + [
            Column("transaction_id", \.credit.transactionID), Column("product_id", \.credit.productID),
            Column("currency", \.credit.currency),
        ]

    private static let terms: Columns<Row> = [
        Column("user_id", \.credit.userID), Column("amount", \.credit.amount), Column("taken_back", \.credit.takenBack),
        Column("purchase_date_ms", \.credit.purchaseDate), Column("revocation_date_ms", \.credit.revocationDate),
    ]

    static let reader = RowReader<Row>({ ($0, $1) }, PurchaseKey.reader, credit)

    static let credit = RowReader(
        LedgerCredit.init, "transaction_id", "product_id", "currency", "user_id", "amount", "taken_back",
        "purchase_date_ms", "revocation_date_ms")

    package static let write = Statement<[Row], Void>(
        [.rows("new", key + terms)],
        """
        INSERT INTO ledger ($new.columns)
        SELECT * FROM $new
        ON CONFLICT (\(key.names())) DO UPDATE SET \(terms.excluded)
        """)

    package static let remove = Statement<[Row], Void>(
        [.rows("gone", key)], "DELETE FROM ledger AS credit USING $gone WHERE \(key.equal("credit", "gone"))")

    /// A part of the difference between two balances of a user.
    package struct Difference: Sendable {
        package let environment: Environment
        package let userID: Identifier
        package let currency: Identifier
        package let amount: Int64

        package init(_ row: Row, amount: Int64) {
            environment = row.purchase.environment
            userID = row.credit.userID
            currency = row.credit.currency
            self.amount = amount
        }
    }

    static let read = PurchaseScope.read(reader, from: "ledger")
}
