package import AppStore

/// The renewal info of one subscription, as one trust vouches for it.
///
/// Renewal info names no app. It joins the purchases of this original transaction ID whose
/// transactions the same trust vouched for.
package struct RenewalKey: Hashable, Comparable, Sendable {
    package var environment: Environment
    package var originalTransactionID: String
    package var trust: Trust

    package init(environment: Environment, originalTransactionID: String, trust: Trust) {
        self.environment = environment
        self.originalTransactionID = originalTransactionID
        self.trust = trust
    }

    package static func < (left: RenewalKey, right: RenewalKey) -> Bool {
        (left.environment.rawValue, left.originalTransactionID, left.trust.text)
            < (right.environment.rawValue, right.originalTransactionID, right.trust.text)
    }
}
