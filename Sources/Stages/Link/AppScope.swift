import AppStore
import Entitlements

/// One app in one environment: what a link belongs to.
struct AppScope: Hashable {
    let environment: Environment
    let bundleID: String
}

extension PurchaseKey {
    var app: AppScope {
        AppScope(environment: environment, bundleID: bundleID)
    }
}

extension AppTransactionGroup {
    var app: AppScope {
        AppScope(environment: environment, bundleID: bundleID)
    }
}
