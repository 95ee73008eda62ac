package import AppStore

/// What the newest revision of a transaction says, in one of its tracks; of receipts, a revocation
/// is what the newest of those says that brought one.
package struct TransactionFact: Hashable, Sendable {
    package var key: TransactionKey
    package var track: Track
    package var revision: Revision
    package var trust: Trust
    package var identity: TransactionIdentity
    package var expiresDate: Timestamp?
    package var revocation: Revocation?
    /// The older receipt that brought the revocation; nil where the newest revision did.
    package var olderRevoking: Revision?
    package var isUpgraded: Bool?
    package var isFamilyShared: Bool
    package var subscriptionGroupID: String?
    package var appAccountToken: AccountToken?
    package var appTransactionID: String?
    package var items: [CommerceItem]

    package init(
        key: TransactionKey,
        track: Track,
        revision: Revision,
        trust: Trust,
        identity: TransactionIdentity,
        expiresDate: Timestamp? = nil,
        revocation: Revocation? = nil,
        olderRevoking: Revision? = nil,
        isUpgraded: Bool? = nil,
        isFamilyShared: Bool = false,
        subscriptionGroupID: String? = nil,
        appAccountToken: AccountToken? = nil,
        appTransactionID: String? = nil,
        items: [CommerceItem] = []
    ) {
        self.key = key
        self.track = track
        self.revision = revision
        self.trust = trust
        self.identity = identity
        self.expiresDate = expiresDate
        self.revocation = revocation
        self.olderRevoking = olderRevoking
        self.isUpgraded = isUpgraded
        self.isFamilyShared = isFamilyShared
        self.subscriptionGroupID = subscriptionGroupID
        self.appAccountToken = appAccountToken
        self.appTransactionID = appTransactionID
        self.items = items
    }

    package var purchaseKey: PurchaseKey {
        PurchaseKey(
            environment: key.environment,
            bundleID: key.bundleID,
            originalTransactionID: identity.originalTransactionID
        )
    }
}
