package import AppStore

/// One transaction: what counts once, whatever is replayed.
package struct TransactionKey: Hashable, Comparable, Sendable {
    package var environment: Environment
    package var bundleID: String
    package var transactionID: String

    package init(environment: Environment, bundleID: String, transactionID: String) {
        self.environment = environment
        self.bundleID = bundleID
        self.transactionID = transactionID
    }

    package static func < (left: TransactionKey, right: TransactionKey) -> Bool {
        (left.environment.rawValue, left.bundleID, left.transactionID)
            < (right.environment.rawValue, right.bundleID, right.transactionID)
    }
}
