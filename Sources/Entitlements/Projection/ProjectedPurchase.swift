/// What follows from the facts of one purchase.
package struct ProjectedPurchase: Hashable, Sendable {
    /// By key, then by user; one row for each.
    package var rows: [EntitlementRow]
    /// By transaction, product and currency.
    package var credits: [LedgerCredit]

    package init(rows: [EntitlementRow] = [], credits: [LedgerCredit] = []) {
        self.rows = rows
        self.credits = credits
    }
}
