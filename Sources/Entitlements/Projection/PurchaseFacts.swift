/// All facts of one purchase that its entitlements follow from.
package struct PurchaseFacts: Hashable, Sendable {
    /// By purchase date, then by ID.
    package let transactions: [MergedTransaction]
    /// Every grace ever granted, by any renewal info that joins this purchase.
    package let graces: [GracePeriod]
    /// What transactions add up to that are not among these any more.
    package let sealed: SealedPeriods?

    /// - Parameter sealed: then `transactions` are those bought since, and none of them is missing.
    package init(
        transactions: some Sequence<MergedTransaction>,
        graces: some Sequence<GracePeriod> = [],
        sealed: SealedPeriods? = nil
    ) {
        self.transactions = transactions.sorted { $0.precedes($1) }
        self.graces = graces.sorted()
        self.sealed = sealed
    }
}
