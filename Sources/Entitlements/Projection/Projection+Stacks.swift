import AppStore

extension Projection {
    /// What a purchase adds to the stacks of those it belongs or belonged to.
    package func stackedPurchases(
        of facts: PurchaseFacts,
        _ key: PurchaseKey,
        spans: [OwnershipSpan]
    ) -> [StackedPurchase] {
        let users = Set(spans.map(\.userID))
        return facts.transactions
            .filter { catalog.type(of: $0) == .nonRenewing && $0.revocation == nil }
            .flatMap { transaction in
                users.map { user in
                    StackedPurchase(
                        key: StackKey(
                            environment: key.environment,
                            bundleID: key.bundleID,
                            userID: user,
                            productID: transaction.productID
                        ),
                        transactionID: transaction.transactionID,
                        originalTransactionID: key.originalTransactionID,
                        purchaseDate: transaction.purchaseDate,
                        quantity: transaction.quantity
                    )
                }
            }
    }
}
