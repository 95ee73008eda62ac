import AppStore
import Entitlements
import Postgres

/// The columns of a statement that name purchases: original transaction ID, environment, app.
struct PurchaseColumns {
    private var originals = PostgresArray(of: .text)
    private var environments = PostgresArray(of: .text)
    private var bundleIDs = PostgresArray(of: .text)

    mutating func append(_ purchase: PurchaseKey) {
        originals.append(purchase.originalTransactionID)
        environments.append(purchase.environment.rawValue)
        bundleIDs.append(purchase.bundleID)
    }

    var values: [PostgresValue] { [originals, environments, bundleIDs].map { .array($0) } }
}
