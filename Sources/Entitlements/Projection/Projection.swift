import AppStore

/// Turns the facts of a purchase into what its users may use: the rules, and nothing else.
///
/// A pure function of facts, ownership and catalog, linear in the number of transactions. The facts
/// decide, never a notification's type, and no rule takes a time from a signed date.
package struct Projection: Sendable {
    package var catalog: Catalog

    package init(catalog: Catalog) {
        self.catalog = catalog
    }

    /// The rows of one purchase.
    ///
    /// - Parameters:
    ///   - key: the purchase.
    ///   - ownership: each user keeps what was theirs before the next span begins.
    ///   - stacks: those of the users of this purchase, where it has non-renewing transactions.
    package func project(
        _ facts: PurchaseFacts,
        of key: PurchaseKey,
        ownership: Ownership,
        stacks: NonRenewingStacks = NonRenewingStacks()
    ) -> ProjectedPurchase {
        guard !ownership.spans.isEmpty else { return ProjectedPurchase() }
        let contributions = contributions(of: facts, key, ownership: ownership, stacks: stacks)
        return ProjectedPurchase(
            rows: rows(contributions, sealed: facts.sealed, ownership),
            credits: credits(of: facts, ownership)
        )
    }

    /// What each transaction adds, and by which rule; in no particular order.
    package func contributions(
        of facts: PurchaseFacts,
        _ key: PurchaseKey,
        ownership: Ownership,
        stacks: NonRenewingStacks
    ) -> [Contribution] {
        var contributions: [Contribution] = []
        contributions.reserveCapacity(facts.transactions.count + facts.graces.count)
        var subscription: [MergedTransaction] = []
        for transaction in facts.transactions {
            switch catalog.type(of: transaction) {
            case .autoRenewable:
                subscription.append(transaction)
            case .nonConsumable:
                let granted = oneTimePurchase(transaction)
                contributions.append(granted)
                contributions += granted.items(of: transaction, catalog)
            case .nonRenewing:
                for stacked in stacked(transaction, key, ownership, stacks) {
                    contributions.append(stacked)
                    contributions += stacked.items(of: transaction, catalog)
                }
            case .consumable:
                contributions.append(nothing(from: transaction, by: .consumable))
                contributions += oneTimePurchase(transaction).items(of: transaction, catalog)
            case .other, nil:
                contributions.append(nothing(from: transaction, by: .unknownType))
            }
        }
        if !subscription.isEmpty {
            contributions += SubscriptionPeriods(transactions: subscription, catalog: catalog)
                .contributions(graces: facts.openGraces)
        }
        return contributions
    }

    private func oneTimePurchase(_ transaction: MergedTransaction) -> Contribution {
        Contribution(
            transactionID: transaction.transactionID,
            productID: transaction.productID,
            rule: transaction.revocation == nil ? .oneTimePurchase : .revoked,
            period: Period(start: transaction.purchaseDate, end: transaction.revocation?.date)
        )
    }

    private func nothing(
        from transaction: MergedTransaction,
        by rule: ProjectionRule
    ) -> Contribution {
        Contribution(
            transactionID: transaction.transactionID,
            productID: transaction.productID,
            rule: rule,
            period: nil
        )
    }

    /// One contribution for each user the purchase has had: each has a stack of their own.
    private func stacked(
        _ transaction: MergedTransaction,
        _ key: PurchaseKey,
        _ ownership: Ownership,
        _ stacks: NonRenewingStacks
    ) -> [Contribution] {
        guard transaction.revocation == nil else {
            return [nothing(from: transaction, by: .neverBought)]
        }
        return Set(ownership.spans.map(\.userID)).map { user in
            let stack = StackKey(
                environment: key.environment,
                bundleID: key.bundleID,
                userID: user,
                productID: transaction.productID
            )
            return Contribution(
                transactionID: transaction.transactionID,
                productID: transaction.productID,
                rule: .stackedDuration,
                period: stacks.period(of: transaction.transactionID, in: stack),
                userID: user
            )
        }
    }
}
