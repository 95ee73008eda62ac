package import AppStore

/// What one transaction credits of one consumable product in one currency, and what of it a refund
/// took back.
package struct LedgerCredit: Hashable, Sendable {
    package var transactionID: String
    package var productID: String
    package var currency: String
    package var userID: String
    package var amount: Int64
    package var takenBack: Int64
    package var purchaseDate: Timestamp
    package var revocationDate: Timestamp?

    package init(
        transactionID: String,
        productID: String,
        currency: String,
        userID: String,
        amount: Int64,
        takenBack: Int64,
        purchaseDate: Timestamp,
        revocationDate: Timestamp?
    ) {
        self.transactionID = transactionID
        self.productID = productID
        self.currency = currency
        self.userID = userID
        self.amount = amount
        self.takenBack = takenBack
        self.purchaseDate = purchaseDate
        self.revocationDate = revocationDate
    }

    package var balance: Int64 {
        amount - takenBack
    }

    /// Whether both are the ledger's one entry for this transaction, product and currency.
    package func isSameEntry(as other: LedgerCredit) -> Bool {
        transactionID == other.transactionID && productID == other.productID
            && currency == other.currency
    }
}
