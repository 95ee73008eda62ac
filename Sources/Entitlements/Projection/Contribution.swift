import AppStore

/// What one transaction adds to the entitlements of its product.
package struct Contribution: Hashable, Sendable {
    package var transactionID: String
    /// The transaction's product, or the SKU of one of its items.
    package var productID: String
    package var rule: ProjectionRule
    /// Nil when it grants nothing, by this rule.
    package var period: Period?
    /// Set where it holds for this user alone: stacking is per user.
    package var userID: String?

    package init(
        transactionID: String,
        productID: String,
        rule: ProjectionRule,
        period: Period?,
        userID: String? = nil
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
