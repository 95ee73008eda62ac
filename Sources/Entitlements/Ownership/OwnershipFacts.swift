package import AppStore

/// What is known of one purchase that may say whose it is.
package struct OwnershipFacts: Hashable, Sendable {
    package var originalTransactionID: String
    /// In any order.
    package var transactions: [OwnershipTransaction]
    /// The account token of the newest renewal info.
    package var renewalToken: AccountToken?
    /// The purchase's `appTransactionId`: one per Apple Account and app.
    package var appTransactionID: String?
    /// What ingestion said, in any order.
    package var claims: [UserClaim]

    package init(
        originalTransactionID: String,
        transactions: [OwnershipTransaction] = [],
        renewalToken: AccountToken? = nil,
        appTransactionID: String? = nil,
        claims: [UserClaim] = []
    ) {
        self.originalTransactionID = originalTransactionID
        self.transactions = transactions
        self.renewalToken = renewalToken
        self.appTransactionID = appTransactionID
        self.claims = claims
    }
}
