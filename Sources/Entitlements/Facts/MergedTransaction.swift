package import AppStore

/// A transaction as the projection sees it: its tracks made one.
package struct MergedTransaction: Hashable, Sendable {
    package var transactionID: String
    package var productID: String
    package var type: ProductType?
    package var purchaseDate: Timestamp
    package var expiresDate: Timestamp?
    package var revocation: Revocation?
    package var isUpgraded: Bool
    /// At least 1.
    package var quantity: Int32
    package var items: [CommerceItem]

    package init(
        transactionID: String,
        productID: String,
        type: ProductType?,
        purchaseDate: Timestamp,
        expiresDate: Timestamp? = nil,
        revocation: Revocation? = nil,
        isUpgraded: Bool = false,
        quantity: Int32 = 1,
        items: [CommerceItem] = []
    ) {
        self.transactionID = transactionID
        self.productID = productID
        self.type = type
        self.purchaseDate = purchaseDate
        self.expiresDate = expiresDate
        self.revocation = revocation
        self.isUpgraded = isUpgraded
        self.quantity = max(1, quantity)
        self.items = items
    }

    package init(_ fact: TransactionFact) {
        self.init(
            transactionID: fact.key.transactionID,
            productID: fact.identity.productID,
            type: fact.identity.type,
            purchaseDate: fact.identity.purchaseDate,
            expiresDate: fact.expiresDate,
            revocation: fact.revocation,
            isUpgraded: fact.isUpgraded ?? false,
            quantity: fact.identity.quantity ?? 1,
            items: fact.items
        )
    }

    /// The order in which a purchase's transactions are read: by purchase date, then by ID.
    package func precedes(_ other: MergedTransaction) -> Bool {
        (purchaseDate, transactionID) < (other.purchaseDate, other.transactionID)
    }
}
