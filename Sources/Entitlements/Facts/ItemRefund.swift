package import AppStore

/// What of an item's price went back in part, all such refunds together.
package struct ItemRefund: Hashable, Sendable {
    /// Of the last of them.
    package var date: Timestamp
    /// Milliunits, more than zero and at most the price.
    package var amount: Int64
    /// Milliunits.
    package var price: Int64

    /// Nil where that says nothing of a share.
    package init?(date: Timestamp, amount: Int64, price: Int64) {
        guard amount > 0, price > 0 else { return nil }
        self.date = date
        self.amount = min(amount, price)
        self.price = price
    }
}
