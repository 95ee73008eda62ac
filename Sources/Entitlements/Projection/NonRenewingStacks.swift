import AppStore

/// The periods of non-renewing purchases, each beginning where what the user already holds of the
/// product ends.
package struct NonRenewingStacks: Hashable, Sendable {
    private var periods: [StackKey: [String: Period]] = [:]

    package init() {}

    /// - Parameter purchases: those of each stack concerned, all of them, in any order.
    package init(_ purchases: some Sequence<StackedPurchase>, catalog: Catalog) {
        for (key, stack) in Dictionary(grouping: purchases, by: \.key) {
            periods[key] = Self.periods(stack, of: catalog[key.productID])
        }
    }

    /// Nil when the transaction is in no such stack.
    package func period(of transactionID: String, in key: StackKey) -> Period? {
        periods[key]?[transactionID]
    }

    private static func periods(
        _ stack: [StackedPurchase],
        of product: Product?
    ) -> [String: Period] {
        var periods: [String: Period] = [:]
        var end: Timestamp? = .earliest
        for purchase in stack.sorted(by: { $0.precedes($1) }) {
            // Behind a purchase that never ends there is nothing to add.
            guard let held = end else { break }
            let start = max(held, purchase.purchaseDate)
            let duration = product?.durations.value(at: purchase.purchaseDate)
            end = duration?.added(to: start, times: purchase.quantity)
            periods[purchase.transactionID] = Period(start: start, end: end)
        }
        return periods
    }
}
