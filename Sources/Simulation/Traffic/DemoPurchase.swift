/// One purchase as its life goes on: the newest state of its transaction and what renews it.
struct DemoPurchase {
    let app: DemoApp
    /// Nil for purchases that name nobody.
    let token: String?
    let appTransactionID: String?
    var transaction: TransactionFields
    var renewal: RenewalFields

    init(
        _ product: DemoProduct,
        id: String,
        app: DemoApp,
        token: String?,
        appTransactionID: String? = nil,
        purchaseDate: Int64
    ) {
        self.app = app
        self.token = token
        self.appTransactionID = appTransactionID
        transaction = TransactionFields()
        transaction.transactionID = id
        transaction.originalTransactionID = id
        transaction.bundleID = app.bundleID
        transaction.productID = product.rawValue
        transaction.type = product.type
        transaction.environment = app.environment
        transaction.price = product.price
        transaction.appAccountToken = token
        transaction.appTransactionID = appTransactionID
        transaction.purchaseDate = purchaseDate
        transaction.originalPurchaseDate = purchaseDate
        transaction.signedDate = purchaseDate + 1_000
        renewal = RenewalFields()
        renewal.originalTransactionID = id
        renewal.productID = product.rawValue
        renewal.autoRenewProductID = product.rawValue
        renewal.environment = app.environment
        renewal.appAccountToken = token
        renewal.appTransactionID = appTransactionID
        renewal.recentSubscriptionStartDate = purchaseDate
        renewal.renewalPrice = product.price
        renewal.signedDate = purchaseDate + 1_000
    }

    /// Sets the first period of a subscription.
    mutating func cover(until end: Int64) {
        transaction.subscriptionGroupIdentifier = DemoProduct.subscriptionGroup
        transaction.expiresDate = end
        renewal.renewalDate = end
    }

    /// Begins another period where the last one ended, or at a date of its own.
    mutating func renew(id: String, from start: Int64? = nil, until end: Int64) {
        transaction.transactionID = id
        transaction.transactionReason = "RENEWAL"
        transaction.purchaseDate = start ?? transaction.expiresDate
        sign(at: (transaction.purchaseDate ?? 0) + 1_000)
        cover(until: end)
    }

    /// Moves the dates of signing, as each new signature does.
    mutating func sign(at date: Int64) {
        transaction.signedDate = date
        renewal.signedDate = date
    }
}
