package import AppStore

/// The user whom the ingestion service named beside a signed transaction, unsigned.
package struct UserClaim: Hashable, Sendable {
    package var transactionID: String
    package var purchaseDate: Timestamp
    /// Of the raw record whose header named the user.
    package var position: RawPosition
    package var userID: String

    package init(
        transactionID: String,
        purchaseDate: Timestamp,
        position: RawPosition,
        userID: String
    ) {
        self.transactionID = transactionID
        self.purchaseDate = purchaseDate
        self.position = position
        self.userID = userID
    }

    /// Two users named beside one transaction: the one in the earliest raw record counts, so that
    /// nobody takes a purchase over by posting a copy of its transaction.
    func precedes(_ other: UserClaim) -> Bool {
        (purchaseDate, transactionID, position)
            < (other.purchaseDate, other.transactionID, other.position)
    }
}
