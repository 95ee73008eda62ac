package import AppStore

/// Whose a purchase is, and was: a fold of its ownership facts, the links and the policy.
package struct Ownership: Hashable, Sendable {
    /// By ascending date; the first is from the beginning.
    ///
    /// Empty when nobody is known.
    package var spans: [OwnershipSpan]
    package var rule: OwnershipRule

    package init(spans: [OwnershipSpan], rule: OwnershipRule) {
        self.spans = spans
        self.rule = rule
    }

    package init(userID: String, rule: OwnershipRule) {
        self.init(spans: [OwnershipSpan(userID: userID)], rule: rule)
    }

    /// The present owner.
    package var userID: String? {
        spans.last?.userID
    }

    /// Whose the purchase was at an instant.
    package func userID(at date: Timestamp) -> String? {
        spans.last { span in span.from.map { $0 <= date } ?? true }?.userID
    }
}
