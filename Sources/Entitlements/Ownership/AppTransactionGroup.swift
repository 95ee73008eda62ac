package import AppStore

/// The purchases of one Apple Account in one app: those that share an `appTransactionId`.
package struct AppTransactionGroup: Hashable, Comparable, Sendable {
    package var environment: Environment
    package var bundleID: String
    package var appTransactionID: String

    package init(environment: Environment, bundleID: String, appTransactionID: String) {
        self.environment = environment
        self.bundleID = bundleID
        self.appTransactionID = appTransactionID
    }

    package static func < (left: AppTransactionGroup, right: AppTransactionGroup) -> Bool {
        (left.environment.rawValue, left.bundleID, left.appTransactionID)
            < (right.environment.rawValue, right.bundleID, right.appTransactionID)
    }
}
