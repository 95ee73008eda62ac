package import AppStore

/// The owners of a purchase over time, computed from its ownership facts, the links and the policy.
package struct Ownership: Hashable, Sendable {
    /// The owners by ascending date; the first owner has no start date.
    ///
    /// The list is empty if no owner is known.
    package var spans: [OwnershipSpan]
    package var rule: OwnershipRule

    package init(spans: [OwnershipSpan], rule: OwnershipRule) {
        self.spans = spans
        self.rule = rule
    }

    package init(userID: Identifier, rule: OwnershipRule) {
        self.init(spans: [OwnershipSpan(userID: userID)], rule: rule)
    }

    /// The present owner.
    package var userID: Identifier? { spans.last?.userID }

    package func userID(at date: Timestamp) -> Identifier? {
        spans.last { span in span.from.map { $0 <= date } ?? true }?.userID
    }
}

/// The owner of a purchase from a date on, until the next span begins.
package struct OwnershipSpan: Hashable, Sendable {
    package var userID: Identifier
    /// The beginning of the span.
    ///
    /// `nil` if it has no beginning.
    package var from: Timestamp?

    package init(userID: Identifier, from: Timestamp? = nil) {
        self.userID = userID
        self.from = from
    }
}

/// The rule that determined the owner of a purchase, or the reason why no rule did.
package enum OwnershipRule: String, CaseIterable, Sendable {
    case originalTransactionLink = "original_transaction_link"
    case accountToken = "account_token"
    /// The token of the renewal info, used only if no transaction has a token.
    case renewalToken = "renewal_token"
    case appTransactionLink = "app_transaction_link"
    /// The only owner of the other purchases with the same `appTransactionId`.
    case siblingPurchase = "sibling_purchase"
    case ingestionClaim = "ingestion_claim"
    /// The other purchases of the same `appTransactionId` belong to several users.
    case ambiguousSiblings = "ambiguous_siblings"
    /// The ingestion service named a user, but its users are not trusted.
    case untrustedClaim = "untrusted_claim"
    case unlinked
}
