package import AppStore

/// The periods of the auto-renewable transactions of one purchase.
///
/// A period usually is one transaction. Each addition of seats is a further transaction with its own payment, and the
/// period ends early only if all of its transactions are revoked.
struct SubscriptionPeriods {
    /// The transactions by purchase date, then by ID, without copies; never empty.
    private let transactions: [MergedTransaction]
    private let spans: [RenewalSpan]
    /// The beginning of the purchase.
    ///
    /// `nil` if the purchase began before all of these transactions.
    private let beginning: Timestamp?
    private let catalog: Catalog
    /// The ascending indexes of all transactions of a period, by the index of each; only for periods with added seats.
    private let shared: [Int: [Int]]

    init(_ transactions: [MergedTransaction], _ spans: [RenewalSpan], beginning: Timestamp?, catalog: Catalog) {
        self.transactions = transactions
        self.spans = spans
        self.beginning = beginning
        self.catalog = catalog
        shared = Self.shared(transactions)
    }

    func contributions() -> [Contribution] {
        var contributions: [Contribution] = []
        contributions.reserveCapacity(transactions.count + spans.count)
        for index in transactions.indices {
            let billed = billed(index)
            contributions.append(billed)
            contributions += billed.items(of: transactions[index], catalog)
        }
        for span in spans {
            for (index, extended) in extended(by: span) {
                contributions.append(extended)
                contributions += extended.items(of: transactions[index], catalog)
            }
        }
        return contributions
    }

    /// The contribution of a span to each transaction of the period that it extends, which may be unknown.
    func extended(by span: RenewalSpan) -> [(index: Int, contribution: Contribution)] {
        switch span.kind {
        case .grace:
            guard let base = base(of: span) else { return [] }
            return members(of: base).map { ($0, extended($0, by: span)) }
        }
    }

    /// The contribution from the purchase to the end of the billed period, or to an earlier event that ends the
    /// period.
    func billed(_ index: Int) -> Contribution {
        let transaction = transactions[index]
        guard var end = transaction.expiresDate else { return contribution(transaction, .periodWithoutEnd, in: nil) }
        var rule = ProjectionRule.billedPeriod
        // Until its replacement is known, an upgraded transaction keeps its period: the customer has paid for a higher
        // level, not for less.
        if isUpgraded(index), let replaced = nextPurchaseDate(after: index), replaced < end {
            (end, rule) = (replaced, .upgraded)
        }
        if let revoked = revocationDate(index) {
            if revoked < end { (end, rule) = (revoked, .revoked) }
        } else if transaction.revocation != nil {
            rule = .sharedPeriod
        }
        let isFirst = transaction.purchaseDate == beginning
        let start = isFirst ? transaction.startIfFirst : transaction.purchaseDate
        return contribution(transaction, rule, in: Period(start: start, end: end))
    }

    /// The contribution from the end of the period that was not renewed to the purchase that recovered the
    /// subscription.
    ///
    /// If that period is unknown, an earlier period represents its product, and the contribution begins at the end
    /// that Apple states: nothing is known of the time between them, and a refund of the earlier period is not a
    /// refund of the later one.
    private func extended(_ index: Int, by grace: RenewalSpan) -> Contribution {
        let transaction = transactions[index]
        guard let expires = transaction.expiresDate else {
            return contribution(transaction, .periodWithoutEnd, in: nil)
        }
        var rule = ProjectionRule.gracePeriod
        var end = min(grace.end, nextPurchaseDate(after: index) ?? grace.end)
        if let ended = grace.anchor, expires.wholeSeconds < ended.wholeSeconds {
            return contribution(transaction, rule, in: Period(start: ended, end: end))
        }
        if let revoked = revocationDate(index), revoked < end { (end, rule) = (revoked, .graceAfterRefund) }
        return contribution(transaction, rule, in: Period(start: expires, end: end))
    }

    /// The first transaction of the period that a grace extends.
    ///
    /// `nil` if no period fits.
    ///
    /// The transaction belongs to the last period that began before the end of the period that was not renewed. If
    /// Apple does not state that end (or states an impossible date), the function uses the end of the last bought
    /// period that ended before the grace does.
    private func base(of grace: RenewalSpan) -> Int? {
        var ended = grace.anchor
        if ended == nil {
            let index = transactions.indices.last { index in
                isFirst(index) && transactions[index].expiresDate.map { $0 < grace.end } ?? false
            }
            ended = index.flatMap { transactions[$0].expiresDate }
        }
        guard let ended else { return nil }
        return transactions.indices.last { isFirst($0) && transactions[$0].purchaseDate < ended }
    }

    /// The date of the first later purchase that is not part of this period.
    private func nextPurchaseDate(after index: Int) -> Timestamp? {
        let members = shared[index]
        let first = members?.first ?? index
        let date = transactions[first].purchaseDate
        return transactions.indices[(first + 1)...].first { next in
            transactions[next].purchaseDate > date && !(members?.contains(next) ?? false)
        }.map { transactions[$0].purchaseDate }
    }

    private func contribution(_ transaction: MergedTransaction, _ rule: ProjectionRule, in period: Period?)
        -> Contribution
    {
        Contribution(
            transactionID: transaction.transactionID, productID: transaction.productID, rule: rule, period: period)
    }
}

extension SubscriptionPeriods {
    /// Groups transactions of one product with the same end into one period, if at least one of them states that seats
    /// were added.
    ///
    /// The first transaction states the addition only after Apple has signed it again.
    private static func shared(_ transactions: [MergedTransaction]) -> [Int: [Int]] {
        guard transactions.contains(where: { $0.additionalTransactionReason != nil }) else { return [:] }
        var shared: [Int: [Int]] = [:]
        for index in transactions.indices {
            let first = transactions[..<index].indices.first { transactions[$0].endsAtOnce(with: transactions[index]) }
            let members = (shared[first ?? index] ?? []) + [index]
            for member in members { shared[member] = members }
        }
        return shared.filter { _, members in members.contains { transactions[$0].additionalTransactionReason != nil } }
    }

    /// The transactions of the period that was bought last.
    static func newest(_ transactions: [MergedTransaction]) -> [MergedTransaction] {
        guard let newest = transactions.newest else { return [] }
        let members = transactions.filter { $0.endsAtOnce(with: newest) }
        return members.contains { $0.additionalTransactionReason != nil } ? members : [newest]
    }

    private func members(of index: Int) -> [Int] { shared[index] ?? [index] }

    private func isFirst(_ index: Int) -> Bool { shared[index].map { $0[0] == index } ?? true }

    private func isUpgraded(_ index: Int) -> Bool {
        guard let members = shared[index] else { return transactions[index].isUpgraded }
        return members.contains { transactions[$0].isUpgraded }
    }

    /// The date when the last payment for the period was revoked.
    ///
    /// `nil` while a payment is not revoked.
    private func revocationDate(_ index: Int) -> Timestamp? {
        guard let members = shared[index] else { return transactions[index].revocation?.date }
        let dates = members.compactMap { transactions[$0].revocation?.date }
        return dates.count == members.count ? dates.max() : nil
    }
}

extension MergedTransaction {
    fileprivate func endsAtOnce(with other: MergedTransaction) -> Bool {
        guard let end = expiresDate?.wholeSeconds, end == other.expiresDate?.wholeSeconds else { return false }
        return productID == other.productID && isOwned(like: other) && purchaseDate.wholeSeconds < end
            && other.purchaseDate.wholeSeconds < end
    }
}

/// A transaction's contribution to the entitlements of its product.
package struct Contribution: Hashable, Sendable {
    package var transactionID: Identifier
    /// The transaction's product, or the SKU of one of its items.
    package var productID: Identifier
    package var rule: ProjectionRule
    /// The granted period.
    ///
    /// `nil` if the transaction grants nothing by this rule.
    package var period: Period?
    /// The only user of the contribution, because stacks are per user.
    ///
    /// `nil` if the contribution applies to all users.
    package var userID: Identifier?

    package init(
        transactionID: Identifier, productID: Identifier, rule: ProjectionRule, period: Period?,
        userID: Identifier? = nil
    ) {
        self.transactionID = transactionID
        self.productID = productID
        self.rule = rule
        self.period = period.flatMap { $0.isEmpty ? nil : $0 }
        self.userID = userID
    }
}

extension Contribution {
    /// The contributions of the transaction's items that the catalog contains.
    ///
    /// The items grant their own keys for the same period; the revocation of an item affects only that item. A
    /// consumable item grants no period.
    func items(of transaction: MergedTransaction, _ catalog: Catalog) -> [Contribution] {
        transaction.items.filter { catalog[$0.sku] != nil }.map { item in
            var contribution = self
            contribution.productID = item.sku
            if catalog[item.sku]?.type == .consumable {
                contribution.period = nil
                contribution.rule = .consumable
            } else if let revoked = item.revocationDate, let period {
                let clipped = period.clipped(from: nil, until: revoked)
                contribution.period = clipped.isEmpty ? nil : clipped
                contribution.rule = .revoked
            }
            return contribution
        }
    }
}
