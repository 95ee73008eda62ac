package import AppStore

/// The facts of one purchase from which its entitlements follow.
package struct PurchaseFacts: Hashable, Sendable {
    /// By purchase date, then by ID.
    package let transactions: [MergedTransaction]
    /// Every grace ever granted, by any renewal info that joins this purchase.
    package let graces: [GracePeriod]
    /// What transactions add up to that are not among these any more.
    package let closed: ClosedPeriods?

    /// - Parameter closed: then `transactions` are those bought since, and none of them is missing.
    package init(
        transactions: [MergedTransaction],
        graces: [GracePeriod] = [],
        closed: ClosedPeriods? = nil
    ) {
        self.transactions =
            transactions.count < 2 ? transactions : transactions.sorted { $0.precedes($1) }
        self.graces = graces.sorted()
        self.closed = closed
    }
}

/// What the oldest transactions of a long subscription add up to, by product.
///
/// What is bought at or after `before` cannot change it, so a renewal need not look at the hundreds
/// of periods that lie behind. It is a copy: whatever concerns an older transaction is answered
/// from the facts themselves, and it may be forgotten at any moment.
package struct ClosedPeriods: Hashable, Sendable {
    /// Each transaction bought before this instant is closed, and no other; the first that is not
    /// was bought then.
    package var before: Timestamp
    package var periodsByProduct: [Identifier: PeriodSet]

    package init(before: Timestamp, periodsByProduct: [Identifier: PeriodSet]) {
        self.before = before
        self.periodsByProduct = periodsByProduct
    }

    /// Whether a renewal info may change what is closed; true where only the facts can show it.
    package func mayDepend(on fact: RenewalFact) -> Bool {
        guard let grace = fact.grace else { return false }
        return grace.anchor.map { $0 <= before } ?? true
    }
}

extension PurchaseFacts {
    /// Closes all transactions but the last ones, together with what is closed already.
    ///
    /// Nil where that would not be safe: where a transaction is no subscription's or has items,
    /// where a grace does not say which period it follows, or where nothing more can be closed.
    ///
    /// - Parameter count: how many transactions stay outside at least; one always does.
    package func closed(keeping count: Int) -> ClosedPeriods? {
        guard transactions.allSatisfy({ $0.type == .autoRenewable && $0.items.isEmpty }),
            graces.allSatisfy({ $0.anchor != nil }),
            let before = boundary(keeping: max(1, count))
        else { return nil }
        var periods = closed?.periodsByProduct ?? [:]
        let bought = Projection(catalog: Catalog()).bought(transactions)
        let beginning = closed == nil ? bought.first?.purchaseDate : nil
        let subscription = SubscriptionPeriods(bought, beginning: beginning, Catalog())
        let concerned = openGraces.filter { $0.anchor.map { $0 <= before } ?? false }
        let contributions =
            bought.indices.filter { bought[$0].purchaseDate < before }
            .map { subscription.billed($0) }
            + concerned.flatMap { subscription.extended(by: $0).map(\.contribution) }
        for contribution in contributions {
            var set = periods[contribution.productID] ?? PeriodSet()
            if let period = contribution.period {
                set.insert(period)
            }
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
            if end <= open, closed.purchaseDate.wholeSeconds < open.wholeSeconds {
                boundary = open
            }
        }
        return boundary
    }

    /// The graces that extend no closed transaction.
    var openGraces: [GracePeriod] {
        guard let closed else { return graces }
        return graces.filter { $0.anchor.map { $0 > closed.before } ?? true }
    }
}
