/// The notification subtypes that are known; Apple's own names.
package enum NotificationSubtype: String, CaseIterable, Sendable {
    case initialBuy = "INITIAL_BUY"
    case resubscribe = "RESUBSCRIBE"
    case downgrade = "DOWNGRADE"
    case upgrade = "UPGRADE"
    case autoRenewEnabled = "AUTO_RENEW_ENABLED"
    case autoRenewDisabled = "AUTO_RENEW_DISABLED"
    case voluntary = "VOLUNTARY"
    case billingRetry = "BILLING_RETRY"
    case priceIncrease = "PRICE_INCREASE"
    case gracePeriod = "GRACE_PERIOD"
    case pending = "PENDING"
    case accepted = "ACCEPTED"
    case billingRecovery = "BILLING_RECOVERY"
    case productNotForSale = "PRODUCT_NOT_FOR_SALE"
    case summary = "SUMMARY"
    case failure = "FAILURE"
    case unreported = "UNREPORTED"
    case activeTokenReminder = "ACTIVE_TOKEN_REMINDER"
    case created = "CREATED"

    /// The types that Apple documents it for.
    ///
    /// Exhaustive, so that a subtype added here has to be
    /// given a meaning below.
    var types: [NotificationType] {
        switch self {
        case .initialBuy, .resubscribe: [.subscribed]
        case .downgrade, .upgrade: [.didChangeRenewalPreference, .offerRedeemed]
        case .autoRenewEnabled, .autoRenewDisabled: [.didChangeRenewalStatus]
        case .voluntary, .billingRetry, .priceIncrease, .productNotForSale: [.expired]
        case .gracePeriod: [.didFailToRenew]
        case .pending, .accepted: [.priceIncrease]
        case .billingRecovery: [.didRenew]
        case .summary, .failure: [.renewalExtension]
        case .unreported, .activeTokenReminder, .created: [.externalPurchaseToken]
        }
    }
}
