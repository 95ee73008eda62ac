/// What the ingestion service said beside a signed transaction, unsigned.
///
/// Each claim that has a signed counterpart was compared with it by the verifier; `userID` has none
/// and counts only where the operator trusts ingestion.
package struct ObservationClaims: Hashable, Sendable {
    package var transactionID: String?
    package var originalTransactionID: String?
    package var productID: String?
    package var offerID: String?
    package var userID: String?

    package init(
        transactionID: String? = nil,
        originalTransactionID: String? = nil,
        productID: String? = nil,
        offerID: String? = nil,
        userID: String? = nil
    ) {
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.productID = productID
        self.offerID = offerID
        self.userID = userID
    }

    package var isEmpty: Bool {
        self == ObservationClaims()
    }
}
