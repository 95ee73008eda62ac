package import AppStore

/// The user whom the ingestion service named beside a signed transaction, unsigned.
package struct UserClaim: Hashable, Sendable {
    package var transactionID: String
    package var purchaseDate: Timestamp
    /// When the transaction beside which it stood was signed.
    package var signedDate: Timestamp
    package var userID: String

    package init(
        transactionID: String,
        purchaseDate: Timestamp,
        signedDate: Timestamp,
        userID: String
    ) {
        self.transactionID = transactionID
        self.purchaseDate = purchaseDate
        self.signedDate = signedDate
        self.userID = userID
    }

    /// Two users claimed beside one transaction: the later signed counts, then the greater name, so
    /// that the order of arrival does not.
    func precedes(_ other: UserClaim) -> Bool {
        if purchaseDate != other.purchaseDate {
            return purchaseDate < other.purchaseDate
        }
        return (transactionID, signedDate, userID)
            < (other.transactionID, other.signedDate, other.userID)
    }
}
