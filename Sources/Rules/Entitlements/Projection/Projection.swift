package import AppStore

/// The rules that turn the facts of a purchase into its users' entitlements.
///
/// The projection is a pure function of facts, ownership and catalog, linear in the number of transactions. The facts
/// decide, never a notification's type. One rule uses a signed date as a time: if the purchase date of a first
/// purchase is later than Apple's signed date, the purchase begins at the signed date.
package struct Projection: Sendable {
    package var catalog: Catalog

    package init(catalog: Catalog) { self.catalog = catalog }

    /// Computes the rows of one purchase.
    ///
    /// - Parameters:
    ///   - key: the purchase.
    ///   - ownership: the owners over time; each user keeps their part until the next span begins.
    ///   - stacks: the stacks of this purchase's users, if it has non-renewing transactions.
    package func project(
        _ facts: PurchaseFacts, of key: PurchaseKey, ownership: Ownership,
        stacks: NonRenewingStacks = NonRenewingStacks()
    ) -> ProjectedPurchase {
        guard !ownership.spans.isEmpty else { return ProjectedPurchase() }
        let bought = bought(facts.transactions)
        let contributions = contributions(of: bought, facts, key, ownership: ownership, stacks: stacks)
        var rows = rows(contributions, closed: facts.closed, ownership)
        addTerms(to: &rows, of: bought, by: facts.renewal, contributions, ownership)
        return ProjectedPurchase(rows: rows, credits: credits(of: bought, ownership))
    }

    /// The contribution of each transaction with its rule, in no particular order.
    package func contributions(
        of facts: PurchaseFacts, _ key: PurchaseKey, ownership: Ownership, stacks: NonRenewingStacks
    ) -> [Contribution] {
        let bought = bought(facts.transactions)
        let originals = Set(bought.map(\.transactionID))
        let copies = facts.transactions.filter { !originals.contains($0.transactionID) }
        return contributions(of: bought, facts, key, ownership: ownership, stacks: stacks)
            + copies.map { nothing(from: $0, by: .copy) }
    }

    private func contributions(
        of bought: [MergedTransaction], _ facts: PurchaseFacts, _ key: PurchaseKey, ownership: Ownership,
        stacks: NonRenewingStacks
    ) -> [Contribution] {
        var contributions: [Contribution] = []
        contributions.reserveCapacity(bought.count + facts.spans.count)
        let beginning = facts.closed == nil ? bought.first?.purchaseDate : nil
        var subscription: [MergedTransaction] = []
        for transaction in bought {
            let isFirst = transaction.purchaseDate == beginning
            let start = isFirst ? transaction.startIfFirst : transaction.purchaseDate
            switch catalog.type(of: transaction) {
            case .autoRenewable: subscription.append(transaction)
            case .nonConsumable:
                let granted = oneTimePurchase(transaction, from: start)
                contributions.append(granted)
                contributions += granted.items(of: transaction, catalog)
            case .nonRenewing:
                let all = stacked(transaction, from: start, of: key, ownership, in: stacks)
                for stacked in all {
                    contributions.append(stacked)
                    contributions += stacked.items(of: transaction, catalog)
                }
            case .consumable:
                contributions.append(nothing(from: transaction, by: .consumable))
                let granted = oneTimePurchase(transaction, from: start)
                contributions += granted.items(of: transaction, catalog)
            case .other, nil: contributions.append(nothing(from: transaction, by: .unknownType))
            }
        }
        if !subscription.isEmpty {
            contributions += SubscriptionPeriods(subscription, facts.openSpans, beginning: beginning, catalog: catalog)
                .contributions()
        }
        return contributions
    }

    private func oneTimePurchase(_ transaction: MergedTransaction, from start: Timestamp) -> Contribution {
        Contribution(
            transactionID: transaction.transactionID, productID: transaction.productID,
            rule: transaction.revocation == nil ? .oneTimePurchase : .revoked,
            period: Period(start: start, end: transaction.revocation?.date))
    }

    private func nothing(from transaction: MergedTransaction, by rule: ProjectionRule) -> Contribution {
        Contribution(
            transactionID: transaction.transactionID, productID: transaction.productID, rule: rule, period: nil)
    }

    /// Contributions for all present and former users of the purchase; each user has their own stack.
    private func stacked(
        _ transaction: MergedTransaction, from start: Timestamp, of key: PurchaseKey, _ ownership: Ownership,
        in stacks: NonRenewingStacks
    ) -> [Contribution] {
        guard transaction.revocation == nil else { return [nothing(from: transaction, by: .neverBought)] }
        return Set(ownership.spans.map(\.userID)).map { user in
            let stack = StackKey(
                environment: key.environment, bundleID: key.bundleID, userID: user, productID: transaction.productID)
            var period = stacks.period(of: transaction.transactionID, in: stack)
            if period?.start == transaction.purchaseDate { period?.start = start }
            return Contribution(
                transactionID: transaction.transactionID, productID: transaction.productID, rule: .stackedDuration,
                period: period, userID: user)
        }
    }
}

/// The rule by which a transaction grants a period or nothing; shown to support staff.
package enum ProjectionRule: String, CaseIterable, Sendable {
    /// The period from the purchase to the end of the billed period.
    case billedPeriod = "billed_period"
    /// The period until Apple revoked the transaction.
    case revoked
    /// Apple revoked the transaction, but another transaction still represents its period.
    case sharedPeriod = "shared_period"
    /// The transaction was bought together with another and counts as a part of it.
    case copy
    /// The period until the purchase of the upgrade that replaced the transaction.
    case upgraded
    /// The period from the end of a period that could not be billed until the recovering purchase.
    case gracePeriod = "grace_period"
    /// The grace period until the period that it extends was revoked.
    case graceAfterRefund = "grace_after_refund"
    /// The transaction of a subscription has no end, so it does not define a period.
    case periodWithoutEnd = "period_without_end"
    /// The period from the purchase, without an end.
    case oneTimePurchase = "one_time_purchase"
    /// The duration in the catalog, after the user's current time for the product.
    case stackedDuration = "stacked_duration"
    /// A refunded non-renewing purchase counts as if it was never bought.
    case neverBought = "never_bought"
    /// The transaction credits the ledger, and grants no entitlement.
    case consumable
    /// Neither Apple nor the catalog states the type of this product, or its end.
    case unknownType = "unknown_type"
}

/// The periods in which a user may use the grant of one purchase under one entitlement key.
package struct EntitlementRow: Hashable, Sendable {
    package var key: Identifier
    package var userID: Identifier
    /// The periods, never empty.
    package var periods: PeriodSet
    package var terms: EntitlementTerms

    package init(key: Identifier, userID: Identifier, periods: PeriodSet, terms: EntitlementTerms = EntitlementTerms())
    {
        self.key = key
        self.userID = userID
        self.periods = periods
        self.terms = terms
    }

    /// The row's identity within its purchase.
    var holder: Holder { Holder(key: key, userID: userID) }

    struct Holder: Hashable {
        let key: Identifier
        let userID: Identifier
    }
}

package struct ProjectedPurchase: Hashable, Sendable {
    /// The rows by key, then by user; one row for each combination.
    package var rows: [EntitlementRow] = []
    /// The credits by transaction, product and currency.
    package var credits: [LedgerCredit] = []
}

extension Projection {
    /// Merges the contributions of the transactions, by entitlement key and user.
    func rows(_ contributions: [Contribution], closed: ClosedPeriods?, _ ownership: Ownership) -> [EntitlementRow] {
        var rows: [EntitlementRow.Holder: PeriodSet] = [:]
        for (index, span) in ownership.spans.enumerated() {
            let next = index + 1
            let until = next < ownership.spans.count ? ownership.spans[next].from : nil
            for (key, periods) in periodsByKey(contributions, closed, of: span.userID) {
                rows[EntitlementRow.Holder(key: key, userID: span.userID), default: PeriodSet()].formUnion(
                    periods.clipped(from: span.from, until: until))
            }
        }
        return rows.filter { !$0.value.isEmpty }.map { EntitlementRow(key: $0.key, userID: $0.userID, periods: $1) }
            .sorted { ($0.key, $0.userID) < ($1.key, $1.userID) }
    }

    private func periodsByKey(_ contributions: [Contribution], _ closed: ClosedPeriods?, of user: Identifier)
        -> [Identifier: PeriodSet]
    {
        var byProduct = closed?.periodsByProduct ?? [:]
        for contribution in contributions {
            guard let period = contribution.period else { continue }
            guard contribution.userID == nil || contribution.userID == user else { continue }
            byProduct[contribution.productID, default: PeriodSet()].insert(period)
        }
        var byKey: [Identifier: PeriodSet] = [:]
        for (productID, periods) in byProduct {
            for key in catalog.entitlementKeys(of: productID) { byKey[key, default: PeriodSet()].formUnion(periods) }
        }
        return byKey
    }
}
