package import AppStore

/// The facts of one purchase from which its entitlements follow.
package struct PurchaseFacts: Hashable, Sendable {
    /// The transactions by purchase date, then by ID.
    package let transactions: [MergedTransaction]
    /// Every span ever stated by a renewal info that applies to this purchase.
    package let spans: [RenewalSpan]
    /// The sum of older transactions that are not listed here any more.
    package let closed: ClosedPeriods?

    /// - Parameter closed: if not nil, `transactions` holds all transactions bought since, and only
    ///   those.
    package init(transactions: [MergedTransaction], spans: [RenewalSpan] = [], closed: ClosedPeriods? = nil) {
        self.transactions = transactions.count < 2 ? transactions : transactions.sorted { $0.precedes($1) }
        self.spans = spans.sorted()
        self.closed = closed
    }
}

/// The periods that the oldest transactions of a long subscription add up to, by product.
///
/// A purchase at or after `before` cannot change them, so a renewal need not read hundreds of past
/// periods. It is a cache: changes to an older transaction are answered from the facts themselves,
/// and it may be deleted at any moment.
package struct ClosedPeriods: Hashable, Sendable {
    /// The instant before which exactly the closed transactions were bought; the first open one was
    /// bought then.
    package var before: Timestamp
    package var periodsByProduct: [Identifier: PeriodSet]

    package init(before: Timestamp, periodsByProduct: [Identifier: PeriodSet]) {
        self.before = before
        self.periodsByProduct = periodsByProduct
    }

    /// Whether a renewal info may change closed periods; true if only the facts can show it.
    package func mayDepend(on fact: RenewalFact) -> Bool {
        fact.spans.contains { span in span.anchor.map { $0 <= before } ?? true }
    }
}

extension PurchaseFacts {
    /// Closes all transactions but the last ones, together with those already closed.
    ///
    /// `nil` if that is not safe: if a transaction is not a subscription's or has items, if a span
    /// does not state which period it follows, or if nothing more can be closed.
    ///
    /// - Parameter count: the minimum of transactions that stay open; at least one always does.
    package func closed(keeping count: Int) -> ClosedPeriods? {
        guard transactions.allSatisfy({ $0.type == .autoRenewable && $0.items.isEmpty }),
            spans.allSatisfy({ $0.anchor != nil }), let before = boundary(keeping: max(1, count))
        else { return nil }
        var periods = closed?.periodsByProduct ?? [:]
        let bought = Projection(catalog: Catalog()).bought(transactions)
        let beginning = closed == nil ? bought.first?.purchaseDate : nil
        let subscription = SubscriptionPeriods(bought, openSpans, beginning: beginning, Catalog())
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
    /// All before it have ended by then, and none was bought in the same second: nothing bought
    /// later is a copy of one of them, or adds seats to its period.
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
