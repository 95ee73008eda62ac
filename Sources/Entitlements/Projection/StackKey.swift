package import AppStore

/// Whose purchases of which non-renewing product extend each other.
package struct StackKey: Hashable, Comparable, Sendable {
    package var environment: Environment
    package var bundleID: String
    package var userID: String
    package var productID: String

    package init(environment: Environment, bundleID: String, userID: String, productID: String) {
        self.environment = environment
        self.bundleID = bundleID
        self.userID = userID
        self.productID = productID
    }

    package static func < (left: StackKey, right: StackKey) -> Bool {
        (left.environment.rawValue, left.bundleID, left.userID, left.productID)
            < (right.environment.rawValue, right.bundleID, right.userID, right.productID)
    }
}
