package import AppStore

/// The key of a transaction, under which repeated records count once.
package struct TransactionKey: Hashable, Comparable, Sendable {
    package var environment: Environment
    package var bundleID: Identifier
    package var transactionID: Identifier

    package init(environment: Environment, bundleID: Identifier, transactionID: Identifier) {
        self.environment = environment
        self.bundleID = bundleID
        self.transactionID = transactionID
    }

    /// Hashes the ID alone, because equality compares the rest and hardly any two keys share their ID.
    package func hash(into hasher: inout Hasher) { hasher.combine(transactionID) }

    package static func < (left: TransactionKey, right: TransactionKey) -> Bool {
        (left.environment, left.bundleID, left.transactionID) < (right.environment, right.bundleID, right.transactionID)
    }
}

/// The key of a purchase: a subscription with all its renewals, or a one-time purchase.
///
/// Environment and bundle ID are part of the key, so that Sandbox never grants access in Production, nor one app in
/// another.
package struct PurchaseKey: Hashable, Comparable, Sendable {
    package var environment: Environment
    package var bundleID: Identifier
    package var originalTransactionID: Identifier

    package init(environment: Environment, bundleID: Identifier, originalTransactionID: Identifier) {
        self.environment = environment
        self.bundleID = bundleID
        self.originalTransactionID = originalTransactionID
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(originalTransactionID) }

    package static func < (left: PurchaseKey, right: PurchaseKey) -> Bool {
        (left.environment, left.bundleID, left.originalTransactionID) < (
            right.environment, right.bundleID, right.originalTransactionID
        )
    }
}

/// The key of a subscription's renewal info, with the trust of its signature.
///
/// Renewal info names no app. It applies to the purchases of its original transaction ID whose transactions have the
/// same trust.
package struct RenewalKey: Hashable, Comparable, Sendable {
    package var environment: Environment
    package var originalTransactionID: Identifier
    package var trust: Trust

    package init(environment: Environment, originalTransactionID: Identifier, trust: Trust) {
        self.environment = environment
        self.originalTransactionID = originalTransactionID
        self.trust = trust
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(originalTransactionID) }

    package static func < (left: RenewalKey, right: RenewalKey) -> Bool {
        (left.environment, left.originalTransactionID, left.trust.text) < (
            right.environment, right.originalTransactionID, right.trust.text
        )
    }
}

/// The purchases of one Apple Account in one app, which share an `appTransactionId`.
package struct AppTransactionGroup: Hashable, Comparable, Sendable {
    package var environment: Environment
    package var bundleID: Identifier
    package var appTransactionID: Identifier

    package init(environment: Environment, bundleID: Identifier, appTransactionID: Identifier) {
        self.environment = environment
        self.bundleID = bundleID
        self.appTransactionID = appTransactionID
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(appTransactionID) }

    package static func < (left: AppTransactionGroup, right: AppTransactionGroup) -> Bool {
        (left.environment, left.bundleID, left.appTransactionID) < (
            right.environment, right.bundleID, right.appTransactionID
        )
    }
}
