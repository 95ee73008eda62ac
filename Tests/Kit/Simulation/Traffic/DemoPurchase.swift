package import AppStore

/// A purchase over time: the newest state of its transaction and of its renewal info.
struct DemoPurchase {
    let app: DemoApp
    var transaction: TransactionFields
    var renewal: RenewalFields

    /// - Parameter token: nil for purchases that name no user.
    init(
        _ product: DemoProduct, id: String, app: DemoApp, token: String?, appTransactionID: String? = nil,
        purchaseDate: Int64
    ) {
        self.app = app
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

    /// Makes it one of another product.
    mutating func name(_ productID: String) {
        transaction.productID = productID
        renewal.productID = productID
        renewal.autoRenewProductID = productID
    }

    /// Sets the first period of a subscription.
    mutating func cover(until end: Int64) {
        transaction.subscriptionGroupIdentifier = DemoProduct.subscriptionGroup
        transaction.expiresDate = end
        renewal.renewalDate = end
    }

    /// Starts another period where the last one ended, or at a given date.
    mutating func renew(id: String, from start: Int64? = nil, until end: Int64) {
        transaction.transactionID = id
        transaction.transactionReason = "RENEWAL"
        transaction.purchaseDate = start ?? transaction.expiresDate
        sign(at: (transaction.purchaseDate ?? 0) + 1_000)
        cover(until: end)
    }

    /// Moves the signed dates, as each new signature does.
    mutating func sign(at date: Int64) {
        transaction.signedDate = date
        renewal.signedDate = date
    }
}

/// A record to publish on the raw topic.
package struct DemoItem: Sendable {
    package struct Header: Sendable, Hashable {
        package let name: String
        package let value: [UInt8]?

        package init(name: String, value: [UInt8]?) {
            self.name = name
            self.value = value
        }
    }

    package let kind: DemoKind
    package let key: [UInt8]?
    package let value: [UInt8]?
    package let headers: [Header]
    /// The expected reason of a refusal.
    ///
    /// `nil` for a genuine record.
    package let expectedRefusal: RefusalReason?

    package init(
        kind: DemoKind, key: [UInt8]?, value: [UInt8]?, headers: [Header] = [], expectedRefusal: RefusalReason? = nil
    ) {
        self.kind = kind
        self.key = key
        self.value = value
        self.headers = headers
        self.expectedRefusal = expectedRefusal
    }
}

/// The kind of a body of the demo, for the table of its input.
package enum DemoKind: String, CaseIterable, Sendable {
    case purchase = "purchase posted by the app"
    case subscribed = "notification: subscribed"
    case renewal = "notification: renewal"
    case renewalStatus = "notification: auto-renew off"
    case expiry = "notification: expired"
    case billingRetry = "notification: grace period"
    case recovery = "notification: billing recovered"
    case upgrade = "notification: upgrade"
    case oneTimeCharge = "notification: one-time charge"
    case refund = "notification: refund"
    case refundReversal = "notification: refund reversed"
    case history = "API: transaction history"
    case status = "API: subscription status"
    case receipt = "receipt posted by an old app"
    case renewalInfo = "renewal info alone"
    case appTransaction = "app transaction"
    case notice = "notification without a purchase"
    case emptyResponse = "API: response without items"
    case retried = "notification retried by Apple"
    case duplicate = "same body once more"
    case resigned = "same state signed again"
    case forgedSignature = "forged signature"
    case forgedPayload = "payload changed after signing"
    case algorithmNone = "algorithm none"
    case foreignChain = "foreign certificate authority"
    case brokenChain = "leaf not issued by its intermediate"
    case unmarkedLeaf = "certificate for another purpose"
    case expiredChain = "signed before the certificate began"
    case missingChain = "no certificates"
    case forgedReceipt = "receipt changed after signing"
    case legacyReceipt = "receipt in the style of iOS 6"
    case wrongBundle = "app of another company"
    case wrongAppleID = "wrong Apple ID"
    case sandboxForProduction = "Sandbox for a Production app"
    case contradictingItems = "transaction and renewal info disagree"
    case contradictingClaims = "claims disagree with the signature"
    case incomplete = "genuine but incomplete"
    case truncatedToken = "truncated token"
    case truncatedEnvelope = "truncated JSON"
    case garbage = "garbage bytes"
    case emptyValue = "empty value"
    case nullValue = "null value"
}

/// A row of `account_links` that the demo's users need.
package struct DemoLink: Sendable, Hashable {
    package enum Kind: String, Sendable {
        case accountToken
        case appTransactionID
        case originalTransactionID
    }

    package let kind: Kind
    package let app: DemoApp
    package let value: String
    package let userID: String

    package init(kind: Kind, app: DemoApp, value: String, userID: String) {
        self.kind = kind
        self.app = app
        self.value = value
        self.userID = userID
    }
}

/// A customer of the demo, and the entitlements expected in the end.
package struct DemoUser: Sendable, Hashable {
    package let userID: String
    /// The account token in lower case.
    ///
    /// `nil` for a family member.
    package let accountToken: String?
    /// The keys that Production grants at the moment that the traffic was made for.
    package internal(set) var entitlements: Set<String> = []
    /// The keys that the Sandbox grants at that moment.
    package internal(set) var sandboxEntitlements: Set<String> = []
    /// Coins credited and not taken back.
    package internal(set) var coins: Int64 = 0
}
