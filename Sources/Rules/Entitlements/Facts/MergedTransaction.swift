package import AppStore

/// A transaction with its tracks merged, the input of the projection.
package struct MergedTransaction: Hashable, Sendable {
    package var transactionID: Identifier
    package var productID: Identifier
    package var type: ProductType?
    package var purchaseDate: Timestamp
    /// The start of the period if this is the first transaction of its purchase.
    ///
    /// The start is not after Apple's signed date: at the end of daylight saving time, first purchases have a purchase
    /// date that is an hour too late.
    package var startIfFirst: Timestamp
    package var expiresDate: Timestamp?
    package var revocation: Revocation?
    package var isUpgraded: Bool
    /// The quantity, at least 1.
    package var quantity: Int32
    package var items: [CommerceItem]
    package var ownershipType: OwnershipType?
    package var webOrderLineItemID: Identifier?
    package var transactionReason: String?
    package var additionalTransactionReason: String?
    package var revokedSeatQuantity: Int32?

    package init(
        transactionID: Identifier, productID: Identifier, type: ProductType?, purchaseDate: Timestamp,
        expiresDate: Timestamp? = nil, revocation: Revocation? = nil, isUpgraded: Bool = false, quantity: Int32 = 1,
        items: [CommerceItem] = [], ownershipType: OwnershipType? = nil, webOrderLineItemID: Identifier? = nil,
        transactionReason: String? = nil, additionalTransactionReason: String? = nil, revokedSeatQuantity: Int32? = nil
    ) {
        self.transactionID = transactionID
        self.productID = productID
        self.type = type
        self.purchaseDate = purchaseDate
        startIfFirst = purchaseDate
        self.expiresDate = expiresDate
        self.revocation = revocation
        self.isUpgraded = isUpgraded
        self.quantity = max(1, quantity)
        self.items = items
        self.ownershipType = ownershipType
        self.webOrderLineItemID = webOrderLineItemID
        self.transactionReason = transactionReason
        self.additionalTransactionReason = additionalTransactionReason
        self.revokedSeatQuantity = revokedSeatQuantity
    }

    package init(_ fact: TransactionFact) {
        self.init(
            transactionID: fact.key.transactionID, productID: fact.identity.productID, type: fact.identity.type,
            purchaseDate: fact.identity.purchaseDate, expiresDate: fact.expiresDate, revocation: fact.revocation,
            isUpgraded: fact.isUpgraded ?? false, quantity: fact.identity.quantity ?? 1, items: fact.items,
            ownershipType: fact.ownershipType, webOrderLineItemID: fact.webOrderLineItemID,
            transactionReason: fact.transactionReason?.text,
            additionalTransactionReason: fact.additionalTransactionReason?.text,
            revokedSeatQuantity: fact.revokedSeatQuantity)
        setStart(signedDate: fact.revision.signedDate)
    }

    /// Sets `startIfFirst`; a renewal that is bought in advance begins at its purchase date.
    private mutating func setStart(signedDate: Timestamp) {
        let isRenewal = transactionReason.map { $0 != "PURCHASE" } ?? false
        startIfFirst = isRenewal ? purchaseDate : min(purchaseDate, signedDate)
    }

    /// Whether this transaction precedes another: by purchase date, then by ID.
    package func precedes(_ other: MergedTransaction) -> Bool {
        (purchaseDate, transactionID) < (other.purchaseDate, other.transactionID)
    }
}

extension MergedTransaction {
    /// Merges the two tracks of a transaction.
    ///
    /// If both tracks have a field, the newer signed date decides, and the JWS if the dates are equal. The receipt may
    /// add a revocation but never remove one: a missing revocation may only mean that it was not requested. The
    /// revocation's revision is then that of the receipt with the revocation. If both tracks have a date within the
    /// same second, the JWS's date counts, because it is finer.
    package init(jws: TransactionFact, receipt: TransactionFact) {
        self.init(jws)
        let isReceiptNewer = receipt.revision.signedDate > jws.revision.signedDate
        let (newer, older) = isReceiptNewer ? (receipt, jws) : (jws, receipt)
        setStart(signedDate: newer.revision.signedDate)
        type = jws.identity.type ?? receipt.identity.type
        quantity = max(1, jws.identity.quantity ?? receipt.identity.quantity ?? 1)
        webOrderLineItemID = newer.webOrderLineItemID ?? older.webOrderLineItemID
        isUpgraded = newer.isUpgraded ?? older.isUpgraded ?? false
        expiresDate = Self.finer(newer.expiresDate ?? older.expiresDate, than: jws.expiresDate)
        revocation = jws.revocation
        if let added = receipt.revocation, let revoking = receipt.revoking,
            revoking.signedDate > jws.revision.signedDate
        {
            revocation = Revocation(
                date: Self.finer(added.date, than: jws.revocation?.date) ?? added.date,
                percentage: added.percentage ?? jws.revocation?.percentage,
                reason: added.reason ?? jws.revocation?.reason, type: added.type ?? jws.revocation?.type)
        }
    }

    /// Merges the known tracks of a transaction.
    ///
    /// `nil` without any track.
    package init?(tracks: [TransactionFact]) {
        let jws = tracks.first { $0.track == .jws }
        let receipt = tracks.first { $0.track == .receipt }
        if let jws, let receipt {
            self.init(jws: jws, receipt: receipt)
        } else if let only = jws ?? receipt {
            self.init(only)
        } else {
            return nil
        }
    }

    private static func finer(_ date: Timestamp?, than signed: Timestamp?) -> Timestamp? {
        guard let date, let signed, date.wholeSeconds == signed.wholeSeconds else { return date }
        return signed
    }
}
