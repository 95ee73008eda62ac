/// What the app said beside a signed transaction, unsigned.
///
/// The verifier compared each claim with its signed counterpart. Whose the purchase is, the app is
/// not asked: see `Observation.ingestUserID`.
package struct ObservationClaims: Hashable, Sendable {
    package var transactionID: String?
    package var originalTransactionID: String?
    package var productID: String?
    package var offerID: String?

    package init(
        transactionID: String? = nil,
        originalTransactionID: String? = nil,
        productID: String? = nil,
        offerID: String? = nil
    ) {
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.productID = productID
        self.offerID = offerID
    }

    package var isEmpty: Bool {
        self == ObservationClaims()
    }
}
