package import AppStore

/// A non-renewing transaction that was not taken back, as the stack of its user sees it.
package struct StackedPurchase: Hashable, Sendable {
    package var key: StackKey
    package var transactionID: String
    package var originalTransactionID: String
    package var purchaseDate: Timestamp
    package var quantity: Int32

    package init(
        key: StackKey,
        transactionID: String,
        originalTransactionID: String,
        purchaseDate: Timestamp,
        quantity: Int32
    ) {
        self.key = key
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.purchaseDate = purchaseDate
        self.quantity = max(1, quantity)
    }

    func precedes(_ other: StackedPurchase) -> Bool {
        (purchaseDate, transactionID) < (other.purchaseDate, other.transactionID)
    }
}
