/// Which rule named the owner of a purchase, or why none did.
package enum OwnershipRule: String, CaseIterable, Sendable {
    case originalTransactionLink = "original_transaction_link"
    case accountToken = "account_token"
    /// The token of the renewal info: only where no transaction has one.
    case renewalToken = "renewal_token"
    case appTransactionLink = "app_transaction_link"
    /// The one user behind the other purchases of the same `appTransactionId`.
    case siblingPurchase = "sibling_purchase"
    case ingestionClaim = "ingestion_claim"
    /// The other purchases of the same `appTransactionId` belong to several users.
    case ambiguousSiblings = "ambiguous_siblings"
    case unlinked
}
