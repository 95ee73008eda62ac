import AppStore
import Entitlements
import Postgres

/// A purchase that has another owner because of another purchase, to be told to the next stage.
struct Relink {
    let key: PurchaseKey
    let owner: ObservedOwner
    let group: AppTransactionGroup?
    /// What marks the change in `owners` until it is told.
    let mark: Int64
}

extension Relink {
    /// The columns of `OwnerWriting.untold`.
    init(_ row: PostgresRow) {
        let environment = Environment(rawValue: row.text(0))
        let bundleID = row.text(1)
        self.init(
            key: PurchaseKey(
                environment: environment,
                bundleID: bundleID,
                originalTransactionID: row.text(2)
            ),
            owner: ObservedOwner(userID: row.optionalText(3), rule: row.text(4)),
            group: row.optionalText(5).map {
                AppTransactionGroup(
                    environment: environment,
                    bundleID: bundleID,
                    appTransactionID: $0
                )
            },
            mark: row.int8(6)
        )
    }
}
