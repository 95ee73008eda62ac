/// The app's unsigned claims beside a signed transaction.
///
/// The verifier compared each claim with its signed counterpart. The app's claims never determine the owner of a
/// purchase: see `Observation.ingestUserID`.
package struct ObservationClaims: Hashable, Sendable {
    package var transactionID: String?
    package var originalTransactionID: String?
    package var productID: String?
    package var offerID: String?

    package init(
        transactionID: String? = nil, originalTransactionID: String? = nil, productID: String? = nil,
        offerID: String? = nil
    ) {
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.productID = productID
        self.offerID = offerID
    }

    package var isEmpty: Bool { self == ObservationClaims() }
}
