package import AppStore
import JSON

/// The facts of a transaction's newest revision in one track; in receipts, the revocation is that
/// of the newest one that brought any.
///
/// A copy-on-write value: copies share one storage.
package struct TransactionFact: Hashable, Sendable {
    @usableFromInline package private(set) var storage: Storage

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
        ownershipType: OwnershipType? = nil,
        subscriptionGroupID: Identifier? = nil,
        webOrderLineItemID: Identifier? = nil,
        transactionReason: String? = nil,
        additionalTransactionReason: String? = nil,
        revokedSeatQuantity: Int32? = nil,
        appAccountToken: AccountToken? = nil,
        appTransactionID: Identifier? = nil,
        items: [CommerceItem] = []
    ) {
        storage = Storage(
            Members(
                key: key,
                track: track,
                revision: revision,
                trust: trust,
                identity: identity,
                expiresDate: expiresDate,
                revocation: revocation,
                olderRevoking: olderRevoking,
                isUpgraded: isUpgraded,
                ownershipType: ownershipType,
                subscriptionGroupID: subscriptionGroupID,
                webOrderLineItemID: webOrderLineItemID,
                transactionReason: transactionReason,
                additionalTransactionReason: additionalTransactionReason,
                revokedSeatQuantity: revokedSeatQuantity,
                appAccountToken: appAccountToken,
                appTransactionID: appTransactionID,
                items: items
            )
        )
    }

    package var purchaseKey: PurchaseKey {
        PurchaseKey(
            environment: key.environment,
            bundleID: key.bundleID,
            originalTransactionID: identity.originalTransactionID
        )
    }

    package static func == (left: TransactionFact, right: TransactionFact) -> Bool {
        left.storage === right.storage || left.storage.members == right.storage.members
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(key)
        hasher.combine(revision)
    }
}

extension TransactionFact {
    package struct Members: Hashable, Sendable {
        package var key: TransactionKey
        package var track: Track
        package var revision: Revision
        package var trust: Trust
        package var identity: TransactionIdentity
        package var expiresDate: Timestamp?
        package var revocation: Revocation?
        package var olderRevoking: Revision?
        package var isUpgraded: Bool?
        package var ownershipType: OwnershipType?
        package var subscriptionGroupID: Identifier?
        package var webOrderLineItemID: Identifier?
        package var transactionReason: String?
        package var additionalTransactionReason: String?
        package var revokedSeatQuantity: Int32?
        package var appAccountToken: AccountToken?
        package var appTransactionID: Identifier?
        package var items: [CommerceItem]
    }

    @usableFromInline
    package final class Storage: Sendable {
        @usableFromInline package let members: Members

        init(_ members: Members) {
            self.members = members
        }
    }

    package var members: Members { storage.members }

    /// Changes several members at once, in one new storage.
    package mutating func change(_ change: (inout Members) -> Void) {
        var members = storage.members
        change(&members)
        storage = Storage(members)
    }

    package var key: TransactionKey {
        @inlinable get { storage.members.key }
        set { change { $0.key = newValue } }
    }

    package var track: Track {
        @inlinable get { storage.members.track }
        set { change { $0.track = newValue } }
    }

    package var revision: Revision {
        @inlinable get { storage.members.revision }
        set { change { $0.revision = newValue } }
    }

    package var trust: Trust {
        @inlinable get { storage.members.trust }
        set { change { $0.trust = newValue } }
    }

    package var identity: TransactionIdentity {
        @inlinable get { storage.members.identity }
        set { change { $0.identity = newValue } }
    }

    package var expiresDate: Timestamp? {
        @inlinable get { storage.members.expiresDate }
        set { change { $0.expiresDate = newValue } }
    }

    package var revocation: Revocation? {
        @inlinable get { storage.members.revocation }
        set { change { $0.revocation = newValue } }
    }

    /// The older receipt that brought the revocation; nil if the newest revision did.
    package var olderRevoking: Revision? {
        @inlinable get { storage.members.olderRevoking }
        set { change { $0.olderRevoking = newValue } }
    }

    package var isUpgraded: Bool? {
        @inlinable get { storage.members.isUpgraded }
        set { change { $0.isUpgraded = newValue } }
    }

    /// Nil in a receipt, which lacks the field.
    package var ownershipType: OwnershipType? {
        @inlinable get { storage.members.ownershipType }
        set { change { $0.ownershipType = newValue } }
    }

    package var subscriptionGroupID: Identifier? {
        @inlinable get { storage.members.subscriptionGroupID }
        set { change { $0.subscriptionGroupID = newValue } }
    }

    /// Identifies a billed period of a subscription, even if it has several transaction IDs.
    package var webOrderLineItemID: Identifier? {
        @inlinable get { storage.members.webOrderLineItemID }
        set { change { $0.webOrderLineItemID = newValue } }
    }

    /// `PURCHASE` or `RENEWAL`, as signed.
    package var transactionReason: String? {
        @inlinable get { storage.members.transactionReason }
        set { change { $0.transactionReason = newValue } }
    }

    /// Why several transactions represent the period, as signed; nil if this one represents it
    /// alone.
    package var additionalTransactionReason: String? {
        @inlinable get { storage.members.additionalTransactionReason }
        set { change { $0.additionalTransactionReason = newValue } }
    }

    /// The seats that a refund removed without revoking the transaction; 0 for a multiseat purchase
    /// without such a refund, nil for any other purchase.
    package var revokedSeatQuantity: Int32? {
        @inlinable get { storage.members.revokedSeatQuantity }
        set { change { $0.revokedSeatQuantity = newValue } }
    }

    package var appAccountToken: AccountToken? {
        @inlinable get { storage.members.appAccountToken }
        set { change { $0.appAccountToken = newValue } }
    }

    package var appTransactionID: Identifier? {
        @inlinable get { storage.members.appTransactionID }
        set { change { $0.appTransactionID = newValue } }
    }

    package var items: [CommerceItem] {
        @inlinable get { storage.members.items }
        set { change { $0.items = newValue } }
    }
}

/// Apple's revocation of a transaction: a refund, or a family member's loss of sharing.
package struct Revocation: Hashable, Sendable {
    package var date: Timestamp
    /// Milliunits of the price that were refunded (50000 is one half); nil means all of it.
    package var percentage: Int32?
    package var reason: Int32?
    package var type: String?

    package init(
        date: Timestamp,
        percentage: Int32? = nil,
        reason: Int32? = nil,
        type: String? = nil
    ) {
        self.date = date
        self.percentage = percentage
        self.reason = reason
        self.type = type
    }

    package static let wholePercentage: Int32 = 100_000
}

extension TransactionFact {
    /// The revision that brought the revocation; nil without one.
    package var revoking: Revision? {
        revocation == nil ? nil : olderRevoking ?? revision
    }

    /// Merges two facts of the same ID and track: the greater revision counts.
    ///
    /// No receipt lifts a revocation, since an absent one may only mean that it was not requested:
    /// of the receipts that bring one the greatest revision decides, even if a newer receipt has
    /// none. Neither order nor repetition changes the result of several merges.
    package func joined(with other: TransactionFact) -> TransactionFact {
        var newest = revision < other.revision ? other : self
        guard track == .receipt, let (revocation, revoking) = newestRevocation(or: other) else {
            return newest
        }
        newest.change {
            $0.revocation = revocation
            $0.olderRevoking = revoking == $0.revision ? nil : revoking
        }
        return newest
    }

    private func newestRevocation(or other: TransactionFact) -> (Revocation, Revision)? {
        var newest: (Revocation, Revision)?
        for fact in [self, other] {
            guard let revocation = fact.revocation, let revoking = fact.revoking else { continue }
            if newest.map({ $0.1 < revoking }) ?? true {
                newest = (revocation, revoking)
            }
        }
        return newest
    }
}

extension TransactionFact {
    /// The fact of a verified payload; nil if it lacks a field that the verifier requires.
    ///
    /// - Parameters:
    ///   - environment: as the observation carries it.
    ///   - bundleID: as the observation carries it.
    package init?(
        _ payload: TransactionPayload,
        revision: Revision,
        environment: Environment,
        bundleID: Identifier,
        track: Track,
        trust: Trust
    ) {
        guard let identity = TransactionIdentity(payload), let id = payload.transactionID else {
            return nil
        }
        self.init(
            key: TransactionKey(
                environment: environment,
                bundleID: bundleID,
                transactionID: id.identifier
            ),
            track: track,
            revision: revision,
            trust: trust,
            identity: identity,
            expiresDate: payload.expiresDate,
            revocation: Revocation(payload),
            isUpgraded: payload.isUpgraded,
            ownershipType: payload.ownershipType,
            subscriptionGroupID: payload.subscriptionGroupID?.identifier,
            webOrderLineItemID: payload.lineItemID,
            transactionReason: payload.reason?.string,
            additionalTransactionReason: payload.additionalReason?.string,
            revokedSeatQuantity: payload.seatsRevoked,
            appAccountToken: payload.appAccountToken,
            appTransactionID: payload.appTransactionID?.identifier,
            items: CommerceItem.items(of: payload.advancedCommerce)
        )
    }
}

extension TransactionPayload {
    /// Xcode writes "0" for every transaction, which would make all of them one period.
    fileprivate var lineItemID: Identifier? {
        webOrderLineItemID.flatMap { $0.equals("0") ? nil : $0.identifier }
    }

    /// Apple documents the field both in the transaction and in its seat information, which each
    /// multiseat purchase has.
    fileprivate var seatsRevoked: Int32? {
        if let revokedSeatQuantity { return revokedSeatQuantity }
        guard let multiSeat else { return nil }
        return multiSeat["revokedSeatQuantity"]?.int64.flatMap { Int32(exactly: $0) } ?? 0
    }
}

extension TransactionIdentity {
    /// Nil if the payload lacks a field that the verifier requires of every transaction.
    package init?(_ payload: TransactionPayload) {
        guard let original = payload.originalTransactionID, let product = payload.productID,
            let purchaseDate = payload.purchaseDate
        else { return nil }
        self.init(
            originalTransactionID: original.identifier,
            productID: product.identifier,
            purchaseDate: purchaseDate,
            type: payload.type,
            quantity: payload.quantity
        )
    }
}

extension Revocation {
    /// A percentage outside of 0 to 100 % is ignored, so the whole price counts as refunded.
    init?(_ payload: TransactionPayload) {
        guard let date = payload.revocationDate else { return nil }
        let percentage = payload.revocationPercentage.flatMap { percentage in
            (0...Self.wholePercentage).contains(percentage) ? percentage : nil
        }
        self.init(
            date: date,
            percentage: percentage,
            reason: payload.revocationReason,
            type: payload.revocationType?.string
        )
    }
}
