package import AppStore

/// The status of a subscription by its newest renewal info; access does not depend on it.
package struct SubscriptionStatus: Hashable, Sendable {
    /// The customer's answer to a price increase that requires consent.
    package enum PriceIncrease: String, Sendable { case pending, consented }

    /// Whether auto-renewal is turned on.
    package var willRenew: Bool?
    /// The product of the next period.
    ///
    /// `nil` if it is the present one.
    package var renewsTo: Identifier?
    package var isInBillingRetry: Bool?
    package var priceIncrease: PriceIncrease?
    /// The reason why the subscription ended, in a word; a number that Apple adds later stays a number.
    package var expirationReason: String?
    /// The grace after the newest period.
    package var grace: Period?

    package init(
        willRenew: Bool? = nil, renewsTo: Identifier? = nil, isInBillingRetry: Bool? = nil,
        priceIncrease: PriceIncrease? = nil, expirationReason: String? = nil, grace: Period? = nil
    ) {
        self.willRenew = willRenew
        self.renewsTo = renewsTo
        self.isInBillingRetry = isInBillingRetry
        self.priceIncrease = priceIncrease
        self.expirationReason = expirationReason
        self.grace = grace
    }

    /// - Parameter productID: the product of the newest period.
    init(_ renewal: RenewalFact, productID: Identifier?, grace: Period?) {
        willRenew = renewal.autoRenewStatus.map { $0 == 1 }
        renewsTo = renewal.autoRenewProductID == productID ? nil : renewal.autoRenewProductID
        isInBillingRetry = renewal.isInBillingRetry
        switch renewal.priceIncreaseStatus {
        case 0: priceIncrease = .pending
        case 1: priceIncrease = .consented
        default: priceIncrease = nil
        }
        expirationReason = renewal.expirationIntent.map { Self.expirationReasons[$0] ?? String($0) }
        self.grace = grace
    }

    /// The words for Apple's `expirationIntent`, as in the view `subscriptions`.
    private static let expirationReasons: [Int32: String] = [
        1: "cancelled", 2: "billing_error", 3: "price_increase_declined", 4: "product_unavailable", 5: "other",
    ]
}
