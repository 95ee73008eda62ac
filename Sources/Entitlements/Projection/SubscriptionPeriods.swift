package import AppStore

/// The periods of the auto-renewable transactions of one purchase.
struct SubscriptionPeriods {
    /// By purchase date, then by ID; never empty.
    let transactions: [MergedTransaction]
    let catalog: Catalog

    func contributions(graces: [GracePeriod]) -> [Contribution] {
        var contributions: [Contribution] = []
        contributions.reserveCapacity(transactions.count + graces.count)
        for index in transactions.indices {
            let billed = billed(index)
            contributions.append(billed)
            contributions += billed.items(of: transactions[index], catalog)
        }
        for grace in graces {
            guard let base = base(of: grace) else { continue }
            let extended = extended(base, by: grace)
            contributions.append(extended)
            contributions += extended.items(of: transactions[base], catalog)
        }
        return contributions
    }

    /// What a grace adds; nil where there is no transaction that it might extend.
    func extended(by grace: GracePeriod) -> Contribution? {
        base(of: grace).map { extended($0, by: grace) }
    }

    /// From the purchase to the end of the billed period, or to what ended it before.
    func billed(_ index: Int) -> Contribution {
        let transaction = transactions[index]
        guard var end = transaction.expiresDate else {
            return contribution(transaction, .periodWithoutEnd, nil)
        }
        var rule = ProjectionRule.billedPeriod
        // Until the transaction that replaced it is known, an upgraded one runs on: the customer
        // has paid for more, not less.
        if transaction.isUpgraded, let replaced = nextPurchaseDate(after: index), replaced < end {
            (end, rule) = (replaced, .upgraded)
        }
        if let revoked = transaction.revocation?.date, revoked < end {
            (end, rule) = (revoked, .revoked)
        }
        return contribution(transaction, rule, Period(start: transaction.purchaseDate, end: end))
    }

    /// From the end of the period that could not be renewed to the purchase that recovered it.
    ///
    /// Where that period is not known, and an earlier one stands for its product, it is from when
    /// Apple says that it ended: of what lies between nothing is known, and a refund of the earlier
    /// period is none of the later.
    private func extended(_ index: Int, by grace: GracePeriod) -> Contribution {
        let transaction = transactions[index]
        guard let expires = transaction.expiresDate else {
            return contribution(transaction, .periodWithoutEnd, nil)
        }
        var rule = ProjectionRule.gracePeriod
        var end = min(grace.expiresDate, nextPurchaseDate(after: index) ?? grace.expiresDate)
        if let ended = grace.anchor, expires.wholeSeconds < ended.wholeSeconds {
            return contribution(transaction, rule, Period(start: ended, end: end))
        }
        let start = expires
        if let revoked = transaction.revocation?.date, revoked < end {
            (end, rule) = (revoked, .graceAfterRefund)
        }
        return contribution(transaction, rule, Period(start: start, end: end))
    }

    /// The transaction that a grace extends; nil when none can be it.
    ///
    /// It is the last one bought before the period ended that could not be renewed. Where Apple
    /// does not say when that was (or names a date that is none), it is the end of the last bought
    /// period that had ended before the grace does.
    private func base(of grace: GracePeriod) -> Int? {
        var ended = grace.anchor
        if ended == nil {
            let index = transactions.lastIndex { transaction in
                transaction.expiresDate.map { $0 < grace.expiresDate } ?? false
            }
            ended = index.flatMap { transactions[$0].expiresDate }
        }
        guard let ended else { return nil }
        return transactions.lastIndex { $0.purchaseDate < ended }
    }

    /// The date of the first purchase that is later than this one.
    private func nextPurchaseDate(after index: Int) -> Timestamp? {
        let date = transactions[index].purchaseDate
        return transactions[(index + 1)...].first { $0.purchaseDate > date }?.purchaseDate
    }

    private func contribution(
        _ transaction: MergedTransaction,
        _ rule: ProjectionRule,
        _ period: Period?
    ) -> Contribution {
        Contribution(
            transactionID: transaction.transactionID,
            productID: transaction.productID,
            rule: rule,
            period: period
        )
    }
}

/// What one transaction adds to the entitlements of its product.
package struct Contribution: Hashable, Sendable {
    package var transactionID: Identifier
    /// The transaction's product, or the SKU of one of its items.
    package var productID: Identifier
    package var rule: ProjectionRule
    /// Nil when it grants nothing, by this rule.
    package var period: Period?
    /// Set where it holds for this user alone: stacking is per user.
    package var userID: Identifier?

    package init(
        transactionID: Identifier,
        productID: Identifier,
        rule: ProjectionRule,
        period: Period?,
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
    /// What the items of the transaction add, where the catalog names them.
    ///
    /// They grant their own keys for the same period, and what is taken back of one touches it
    /// alone. A consumable one grants no time.
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
