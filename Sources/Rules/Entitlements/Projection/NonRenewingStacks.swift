package import AppStore

/// The periods of non-renewing purchases; each period begins when the user's earlier time for the product ends.
package struct NonRenewingStacks: Hashable, Sendable {
    private var periods: [StackKey: [Identifier: Period]] = [:]

    package init() {}

    /// - Parameter purchases: all purchases of each affected stack, in any order.
    package init(_ purchases: some Sequence<StackedPurchase>, catalog: Catalog) {
        for (key, stack) in Dictionary(grouping: purchases, by: \.key) {
            periods[key] = Self.periods(stack, of: catalog[key.productID])
        }
    }

    /// The period of a transaction in a stack.
    ///
    /// `nil` if the stack does not contain the transaction.
    package func period(of transactionID: Identifier, in key: StackKey) -> Period? { periods[key]?[transactionID] }

    private static func periods(_ stack: [StackedPurchase], of product: Product?) -> [Identifier: Period] {
        var periods: [Identifier: Period] = [:]
        var end: Timestamp? = .earliest
        for purchase in stack.sorted(by: { $0.precedes($1) }) {
            // A purchase after one that never ends adds nothing.
            guard let held = end else { break }
            let start = max(held, purchase.purchaseDate)
            let duration = product?.durations.value(at: purchase.purchaseDate)
            end = duration?.added(to: start, times: purchase.quantity)
            periods[purchase.transactionID] = Period(start: start, end: end)
        }
        return periods
    }
}

/// The key of a stack: a user and a product; the user's non-renewing purchases of the product extend each other.
package struct StackKey: Hashable, Comparable, Sendable {
    package var environment: Environment
    package var bundleID: Identifier
    package var userID: Identifier
    package var productID: Identifier

    package init(environment: Environment, bundleID: Identifier, userID: Identifier, productID: Identifier) {
        self.environment = environment
        self.bundleID = bundleID
        self.userID = userID
        self.productID = productID
    }

    package static func < (left: StackKey, right: StackKey) -> Bool {
        (left.environment, left.bundleID, left.userID, left.productID) < (
            right.environment, right.bundleID, right.userID, right.productID
        )
    }
}

/// An unrevoked non-renewing transaction in its user's stack.
package struct StackedPurchase: Hashable, Sendable {
    package var key: StackKey
    package var transactionID: Identifier
    package var originalTransactionID: Identifier
    package var purchaseDate: Timestamp
    package var quantity: Int32

    package init(
        key: StackKey, transactionID: Identifier, originalTransactionID: Identifier, purchaseDate: Timestamp,
        quantity: Int32
    ) {
        self.key = key
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.purchaseDate = purchaseDate
        self.quantity = max(1, quantity)
    }

    func precedes(_ other: StackedPurchase) -> Bool {
        (purchaseDate, transactionID) < (other.purchaseDate, other.transactionID)
    }
}

extension Projection {
    /// A purchase's contributions to the stacks of its present and former owners.
    package func stackedPurchases(of facts: PurchaseFacts, _ key: PurchaseKey, spans: [OwnershipSpan])
        -> [StackedPurchase]
    {
        let users = Set(spans.map(\.userID))
        return bought(facts.transactions).filter { catalog.type(of: $0) == .nonRenewing && $0.revocation == nil }
            .flatMap { transaction in
                users.map { user in
                    StackedPurchase(
                        key: StackKey(
                            environment: key.environment, bundleID: key.bundleID, userID: user,
                            productID: transaction.productID), transactionID: transaction.transactionID,
                        originalTransactionID: key.originalTransactionID, purchaseDate: transaction.purchaseDate,
                        quantity: transaction.quantity)
                }
            }
    }
}
