import AppStore
import Entitlements

/// All purchases of one original transaction ID, whatever the app.
///
/// Renewal info names no app, so what it joins is locked and read by what it does name. In practice
/// it is one purchase.
struct PurchaseScope: Hashable {
    let environment: Environment
    let originalTransactionID: String
}

extension PurchaseKey {
    var scope: PurchaseScope {
        PurchaseScope(environment: environment, originalTransactionID: originalTransactionID)
    }
}

extension PurchaseKey {
    /// The purchases of the Apple Account that this one belongs to.
    func group(_ appTransactionID: String) -> AppTransactionGroup {
        AppTransactionGroup(
            environment: environment,
            bundleID: bundleID,
            appTransactionID: appTransactionID
        )
    }
}

extension RenewalKey {
    var scope: PurchaseScope {
        PurchaseScope(environment: environment, originalTransactionID: originalTransactionID)
    }
}
