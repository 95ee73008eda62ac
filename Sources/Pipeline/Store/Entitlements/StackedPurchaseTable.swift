package import AppStore
package import Entitlements
import Postgres

/// The table `stacked_purchases`: non-renewing transactions, which extend each other.
///
/// They do so across purchases, for each user and product.
package enum StackedPurchaseTable {
    /// A user in one app and environment.
    package struct Holder: Hashable, Sendable {
        package let environment: Environment
        package let bundleID: Identifier
        package let userID: Identifier

        package init(environment: Environment, bundleID: Identifier, userID: Identifier) {
            self.environment = environment
            self.bundleID = bundleID
            self.userID = userID
        }

        package init(_ key: StackKey) {
            self.init(environment: key.environment, bundleID: key.bundleID, userID: key.userID)
        }
    }

    private static let key: Columns<StackedPurchase> = [
        Column("user_id", \.key.userID), Column("product_id", \.key.productID),
        Column("environment", \.key.environment), Column("bundle_id", \.key.bundleID),
        Column("transaction_id", \.transactionID),
    ]

    private static let holder: Columns<Holder> = [
        Column("user_id", \.userID), Column("environment", \.environment), Column("bundle_id", \.bundleID),
    ]

    private static let reader = RowReader<StackedPurchase>(
        { userID, productID, purchase, transactionID, purchaseDate, quantity in
            StackedPurchase(
                key: StackKey(
                    environment: purchase.environment, bundleID: purchase.bundleID, userID: userID, productID: productID
                ), transactionID: transactionID, originalTransactionID: purchase.originalTransactionID,
                purchaseDate: purchaseDate, quantity: quantity)
        }, "user_id", "product_id", PurchaseKey.reader, "transaction_id", "purchase_date_ms", "quantity")

    package static let write = Statement<[StackedPurchase], Void>(
        [
            .rows(
                "new",
                key + [
                    Column("original_transaction_id", \.originalTransactionID),
                    Column("purchase_date_ms", \.purchaseDate), Column("quantity", \.quantity),
                ])
        ],
        """
        INSERT INTO stacked_purchases ($new.columns)
        SELECT * FROM $new
        ON CONFLICT (\(key.names())) DO UPDATE
        SET purchase_date_ms = excluded.purchase_date_ms, quantity = excluded.quantity
        """)

    package static let remove = Statement<[StackedPurchase], Void>(
        [.rows("gone", key)],
        """
        DELETE FROM stacked_purchases AS stacked USING $gone
        WHERE \(key.equal("stacked", "gone"))
        """)

    static let read = PurchaseScope.read(reader, from: "stacked_purchases")

    /// All non-renewing transactions of users; requires the users' locks.
    package static let ofHolders = Statement<[Holder], StackedPurchase>(
        [.rows("asked", holder)], returning: reader,
        """
        SELECT \(reader.names(of: "known"))
        FROM $asked
        CROSS JOIN LATERAL (
            SELECT * FROM stacked_purchases AS stacked
            WHERE \(holder.equal("stacked", "asked"))
            OFFSET 0
        ) AS known
        """)
}
