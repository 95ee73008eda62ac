package import AppStore

/// One purchase: a subscription with all its renewals, or a one-time purchase.
///
/// Environment and bundle ID are part of it, so that Sandbox never grants Production and one app
/// never another's.
package struct PurchaseKey: Hashable, Comparable, Sendable {
    package var environment: Environment
    package var bundleID: String
    package var originalTransactionID: String

    package init(environment: Environment, bundleID: String, originalTransactionID: String) {
        self.environment = environment
        self.bundleID = bundleID
        self.originalTransactionID = originalTransactionID
    }

    package static func < (left: PurchaseKey, right: PurchaseKey) -> Bool {
        (left.environment.rawValue, left.bundleID, left.originalTransactionID)
            < (right.environment.rawValue, right.bundleID, right.originalTransactionID)
    }
}
