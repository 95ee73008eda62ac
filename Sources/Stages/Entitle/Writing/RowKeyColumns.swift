import AppStore
import Entitlements
import Postgres

/// The key columns of `entitlements`, in the order of its primary key.
struct RowKeyColumns {
    private var originals = PostgresArray(of: .text)
    private var environments = PostgresArray(of: .text)
    private var bundleIDs = PostgresArray(of: .text)
    private var keys = PostgresArray(of: .text)
    private var users = PostgresArray(of: .text)

    mutating func append(_ held: RowChanges.Held) {
        originals.append(held.purchase.originalTransactionID)
        environments.append(held.purchase.environment.rawValue)
        bundleIDs.append(held.purchase.bundleID)
        keys.append(held.row.key)
        users.append(held.row.userID)
    }

    var arrays: [PostgresArray] {
        [originals, environments, bundleIDs, keys, users]
    }
}
