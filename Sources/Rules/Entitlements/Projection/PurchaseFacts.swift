package import AppStore

/// The facts of one purchase from which its entitlements follow.
package struct PurchaseFacts: Hashable, Sendable {
    /// The transactions by purchase date, then by ID.
    package let transactions: [MergedTransaction]
    /// Every period in any renewal info that applies to this purchase.
    package let spans: [RenewalSpan]
    /// The newest renewal info that applies to this purchase.
    package let renewal: RenewalFact?
    /// The sum of older transactions, which `transactions` no longer contains.
    package let closed: ClosedPeriods?

    /// - Parameter closed: the sum of older transactions; if not `nil`, `transactions` contains exactly the
    ///   transactions bought since then.
    package init(
        transactions: [MergedTransaction], spans: [RenewalSpan] = [], renewal: RenewalFact? = nil,
        closed: ClosedPeriods? = nil
    ) {
        self.transactions = transactions.count < 2 ? transactions : transactions.sorted { $0.precedes($1) }
        self.spans = spans.sorted()
        self.renewal = renewal
        self.closed = closed
    }
}

/// The combined periods of the oldest transactions of a long subscription, by product.
///
/// A purchase at or after `before` cannot change them, so a renewal need not read hundreds of past periods. The value
/// is a cache: a change to an older transaction is computed from the facts themselves, and the value may be deleted at
/// any time.
package struct ClosedPeriods: Hashable, Sendable {
    /// The instant before which exactly the closed transactions were bought: the purchase date of the first open
    /// transaction.
    package var before: Timestamp
    package var periodsByProduct: [Identifier: PeriodSet]

    package init(before: Timestamp, periodsByProduct: [Identifier: PeriodSet]) {
        self.before = before
        self.periodsByProduct = periodsByProduct
    }

    /// Whether a renewal info may change closed periods; true if only the facts can decide it.
    package func mayDepend(on fact: RenewalFact) -> Bool {
        fact.spans.contains { span in span.anchor.map { $0 <= before } ?? true }
    }
}

extension PurchaseFacts {
    /// Closes all transactions except the last ones, and adds them to those already closed.
    ///
    /// `nil` if closing is not safe: a transaction is not a subscription's or has items, a span does not state the
    /// period before it, or no further transaction can be closed.
    ///
    /// - Parameter count: the minimum number of transactions that stay open; at least one always does.
    package func closed(keeping count: Int) -> ClosedPeriods? {
        guard transactions.allSatisfy({ $0.type == .autoRenewable && $0.items.isEmpty }),
            spans.allSatisfy({ $0.anchor != nil }), let before = boundary(keeping: max(1, count))
        else { return nil }
        var periods = closed?.periodsByProduct ?? [:]
        let bought = Projection(catalog: Catalog()).bought(transactions)
        let beginning = closed == nil ? bought.first?.purchaseDate : nil
        let subscription = SubscriptionPeriods(bought, openSpans, beginning: beginning, catalog: Catalog())
        let concerned = openSpans.filter { $0.anchor.map { $0 <= before } ?? false }
        let contributions =
            bought.indices.filter { bought[$0].purchaseDate < before }.map { subscription.billed($0) }
            + concerned.flatMap { subscription.extended(by: $0).map(\.contribution) }
        for contribution in contributions {
            var set = periods[contribution.productID] ?? PeriodSet()
            if let period = contribution.period { set.insert(period) }
            periods[contribution.productID] = set
        }
        return ClosedPeriods(before: before, periodsByProduct: periods)
    }

    /// The purchase date of the first transaction that stays open.
    ///
    /// All transactions before this date have ended by then, and none was bought in the same second: no later
    /// transaction is a copy of one of them, or adds seats to its period.
    private func boundary(keeping count: Int) -> Timestamp? {
        var end = Timestamp.earliest
        var boundary: Timestamp?
        for index in transactions.indices.dropLast(count) {
            let (closed, open) = (transactions[index], transactions[index + 1].purchaseDate)
            end = max(end, closed.expiresDate ?? closed.purchaseDate)
            if end <= open, closed.purchaseDate.wholeSeconds < open.wholeSeconds { boundary = open }
        }
        return boundary
    }

    /// The spans that concern no closed transaction.
    var openSpans: [RenewalSpan] {
        guard let closed else { return spans }
        return spans.filter { $0.anchor.map { $0 > closed.before } ?? true }
    }
}
