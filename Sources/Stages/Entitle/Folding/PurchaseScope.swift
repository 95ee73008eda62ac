import AppStore
import Entitlements

/// All purchases of one original transaction ID, whatever the app.
///
/// Renewal info names no app, so what it joins is locked and read by what it does name. In practice
/// it is one purchase.
struct PurchaseScope: Hashable {
    let environment: Environment
    let originalTransactionID: String

    func purchase(_ bundleID: String) -> PurchaseKey {
        PurchaseKey(
            environment: environment,
            bundleID: bundleID,
            originalTransactionID: originalTransactionID
        )
    }
}

extension PurchaseKey {
    var scope: PurchaseScope {
        PurchaseScope(environment: environment, originalTransactionID: originalTransactionID)
    }
}

extension RenewalKey {
    var scope: PurchaseScope {
        PurchaseScope(environment: environment, originalTransactionID: originalTransactionID)
    }
}
