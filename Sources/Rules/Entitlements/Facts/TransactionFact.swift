package import AppStore
import JSON

/// The facts of a transaction's newest revision in one track.
///
/// The account token and the `appTransactionId` are from the newest revision that contains them. A receipt's
/// revocation is from the newest revision with a revocation.
package typealias TransactionFact = Shared<TransactionMembers>

package struct TransactionMembers: Hashable, Sendable {
    package var key: TransactionKey
    package var track: Track
    package var revision: Revision
    package var trust: Trust
    package var identity: TransactionIdentity
    package var expiresDate: Timestamp?
    package var revocation: Revocation?
    /// The older receipt with the revocation.
    ///
    /// `nil` if the newest revision has it.
    package var olderRevoking: Revision?
    package var isUpgraded: Bool?
    /// The ownership type as signed.
    ///
    /// `nil` in a receipt, which lacks the field.
    package var ownershipType: OwnershipType?
    package var subscriptionGroupID: Identifier?
    /// The identifier of a subscription's billed period, even if the period has several transaction IDs.
    package var webOrderLineItemID: Identifier?
    /// The reason as signed: `PURCHASE` or `RENEWAL`.
    package var transactionReason: Identifier?
    /// The reason why several transactions represent the period, as signed.
    ///
    /// `nil` if this transaction alone represents the period.
    package var additionalTransactionReason: Identifier?
    /// Number of seats that a refund removed without revoking the transaction; 0 for a multiseat purchase without such
    /// a refund.
    ///
    /// `nil` for any other purchase.
    package var revokedSeatQuantity: Int32?
    package var appAccountToken: AccountToken?
    package var appTransactionID: Identifier?
    package var olderNaming = OlderNaming()
    package var items: [CommerceItem] = []

    package init(key: TransactionKey, track: Track, revision: Revision, trust: Trust, identity: TransactionIdentity) {
        self.key = key
        self.track = track
        self.revision = revision
        self.trust = trust
        self.identity = identity
    }

    package var purchaseKey: PurchaseKey {
        PurchaseKey(
            environment: key.environment, bundleID: key.bundleID, originalTransactionID: identity.originalTransactionID)
    }

    package var environment: Environment { key.environment }

    /// The revision with the revocation.
    ///
    /// `nil` without a revocation.
    package var revoking: Revision? { revocation == nil ? nil : olderRevoking ?? revision }
}

extension TransactionMembers: OwnerNaming {}

/// Apple's revocation of a transaction: a refund, or the end of family sharing.
package struct Revocation: Hashable, Sendable {
    package var date: Timestamp
    /// The refunded share of the price in milliunits (50000 is one half).
    ///
    /// `nil` for the whole price.
    package var percentage: Int32?
    package var reason: Int32?
    package var type: String?

    package init(date: Timestamp, percentage: Int32? = nil, reason: Int32? = nil, type: String? = nil) {
        self.date = date
        self.percentage = percentage
        self.reason = reason
        self.type = type
    }

    package static let wholePercentage: Int32 = 100_000
}

extension TransactionFact {
    /// Merges two facts of the same ID and track: the greater revision counts, with the names that only the older one
    /// contains (`OwnerNaming`).
    ///
    /// No receipt removes a revocation, because a missing revocation may only mean that it was not requested. The
    /// greatest revision among the receipts with a revocation decides, even if a newer receipt has none. Neither order
    /// nor repetition of merges changes the result.
    package func joined(with other: TransactionFact) -> TransactionFact {
        let (newest, older) = value.revision < other.revision ? (other, self) : (self, other)
        var members = newest.value
        members.keepNames(of: older.value)
        if members.track == .receipt, let (revocation, revoking) = newestRevocation(or: other) {
            members.revocation = revocation
            members.olderRevoking = revoking == newest.revision ? nil : revoking
        }
        // Most revisions add nothing to the newest fact, which then keeps its storage.
        return members == newest.value ? newest : TransactionFact(members)
    }

    private func newestRevocation(or other: TransactionFact) -> (Revocation, Revision)? {
        var newest: (Revocation, Revision)?
        for fact in [self, other] {
            guard let revocation = fact.revocation, let revoking = fact.revoking else { continue }
            if newest.map({ $0.1 < revoking }) ?? true { newest = (revocation, revoking) }
        }
        return newest
    }
}

extension TransactionFact {
    /// Makes the fact of a verified payload.
    ///
    /// `nil` if the payload lacks a field that the verifier requires.
    ///
    /// - Parameters:
    ///   - environment: the environment in the observation.
    ///   - bundleID: the bundle ID in the observation.
    package init?(
        _ payload: TransactionPayload, revision: Revision, environment: Environment, bundleID: Identifier, track: Track,
        trust: Trust
    ) {
        guard let identity = TransactionIdentity(payload), let id = payload.transactionID else { return nil }
        var members = TransactionMembers(
            key: TransactionKey(environment: environment, bundleID: bundleID, transactionID: id.identifier),
            track: track, revision: revision, trust: trust, identity: identity)
        members.expiresDate = payload.expiresDate
        members.revocation = Revocation(payload)
        members.isUpgraded = payload.isUpgraded
        members.ownershipType = payload.ownershipType
        members.subscriptionGroupID = payload.subscriptionGroupID?.identifier
        members.webOrderLineItemID = payload.lineItemID
        members.transactionReason = payload.reason?.identifier
        members.additionalTransactionReason = payload.additionalReason?.identifier
        members.revokedSeatQuantity = payload.seatsRevoked
        members.appAccountToken = payload.appAccountToken
        members.appTransactionID = payload.appTransactionID?.identifier
        members.items = CommerceItem.items(of: payload.advancedCommerce)
        self.init(members)
    }
}

extension TransactionPayload {
    /// The billed period's identifier, except Xcode's "0", which Xcode writes for every transaction: it would make all
    /// transactions one period.
    fileprivate var lineItemID: Identifier? { webOrderLineItemID.flatMap { $0.equals("0") ? nil : $0.identifier } }

    /// The revoked seats; Apple documents the field both in the transaction and in its seat information, which each
    /// multiseat purchase has.
    fileprivate var seatsRevoked: Int32? {
        if let revokedSeatQuantity { return revokedSeatQuantity }
        guard let multiSeat else { return nil }
        return multiSeat["revokedSeatQuantity"]?.int64.flatMap { Int32(exactly: $0) } ?? 0
    }
}

extension TransactionIdentity {
    /// Reads the fields of a verified payload.
    ///
    /// `nil` if the payload lacks a field that the verifier requires of every transaction.
    package init?(_ payload: TransactionPayload) {
        guard let original = payload.originalTransactionID, let product = payload.productID,
            let purchaseDate = payload.purchaseDate
        else { return nil }
        self.init(
            originalTransactionID: original.identifier, productID: product.identifier, purchaseDate: purchaseDate,
            type: payload.type, quantity: payload.quantity)
    }
}

extension Revocation {
    /// Reads the revocation; a percentage outside of 0 to 100 % is ignored, so the whole price counts as refunded.
    init?(_ payload: TransactionPayload) {
        guard let date = payload.revocationDate else { return nil }
        let percentage = payload.revocationPercentage.flatMap { percentage in
            (0...Self.wholePercentage).contains(percentage) ? percentage : nil
        }
        self.init(
            date: date, percentage: percentage, reason: payload.revocationReason, type: payload.revocationType?.string)
    }
}

extension TransactionMembers: FactMembers {
    package static let blank = TransactionMembers(
        key: TransactionKey(environment: .production, bundleID: "", transactionID: ""), track: .jws, revision: .blank,
        trust: .apple, identity: TransactionIdentity(originalTransactionID: "", productID: "", purchaseDate: .earliest))

    package mutating func visitMembers<Visitor: FactMemberVisitor>(_ visitor: inout Visitor) throws(Visitor.Failure) {
        try visitor.visit("expiresDate", &expiresDate)
        try visitor.visit("revocation", &revocation)
        try visitor.visit("isUpgraded", &isUpgraded)
        try visitor.visit("ownershipType", &ownershipType)
        try visitor.visit("subscriptionGroupID", &subscriptionGroupID)
        try visitor.visit("webOrderLineItemID", &webOrderLineItemID)
        try visitor.visit("transactionReason", &transactionReason)
        try visitor.visit("additionalTransactionReason", &additionalTransactionReason)
        try visitor.visit("revokedSeatQuantity", &revokedSeatQuantity)
        try visitor.visit("appAccountToken", &appAccountToken)
        try visitor.visit("appTransactionID", &appTransactionID)
        try visitor.visit("items", &items)
    }
}
