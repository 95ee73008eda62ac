/// All facts of one purchase that its entitlements follow from.
package struct PurchaseFacts: Hashable, Sendable {
    /// By purchase date, then by ID.
    package let transactions: [MergedTransaction]
    /// Every grace ever granted, by any renewal info that joins this purchase.
    package let graces: [GracePeriod]

    package init(
        transactions: some Sequence<MergedTransaction>,
        graces: some Sequence<GracePeriod> = []
    ) {
        self.transactions = transactions.sorted { $0.precedes($1) }
        self.graces = graces.sorted()
    }
}
