import AppStore
import Entitlements
import Postgres

/// The key columns of `stacked_purchases`, in the order of its primary key.
struct StackColumns {
    private var users = PostgresArray(of: .text)
    private var products = PostgresArray(of: .text)
    private var environments = PostgresArray(of: .text)
    private var bundleIDs = PostgresArray(of: .text)
    private var transactions = PostgresArray(of: .text)

    mutating func append(_ purchase: StackedPurchase) {
        users.append(purchase.key.userID)
        products.append(purchase.key.productID)
        environments.append(purchase.key.environment.rawValue)
        bundleIDs.append(purchase.key.bundleID)
        transactions.append(purchase.transactionID)
    }

    var arrays: [PostgresArray] {
        [users, products, environments, bundleIDs, transactions]
    }
}
