/// The known notification types, by Apple's names.
package enum NotificationType: String, CaseIterable, Sendable {
    case subscribed = "SUBSCRIBED"
    case didChangeRenewalPreference = "DID_CHANGE_RENEWAL_PREF"
    case didChangeRenewalStatus = "DID_CHANGE_RENEWAL_STATUS"
    case offerRedeemed = "OFFER_REDEEMED"
    case didRenew = "DID_RENEW"
    case expired = "EXPIRED"
    case didFailToRenew = "DID_FAIL_TO_RENEW"
    case gracePeriodExpired = "GRACE_PERIOD_EXPIRED"
    case priceIncrease = "PRICE_INCREASE"
    case refund = "REFUND"
    case refundDeclined = "REFUND_DECLINED"
    case consumptionRequest = "CONSUMPTION_REQUEST"
    case renewalExtended = "RENEWAL_EXTENDED"
    case revoke = "REVOKE"
    case test = "TEST"
    case renewalExtension = "RENEWAL_EXTENSION"
    case refundReversed = "REFUND_REVERSED"
    case externalPurchaseToken = "EXTERNAL_PURCHASE_TOKEN"
    case oneTimeCharge = "ONE_TIME_CHARGE"
    case rescindConsent = "RESCIND_CONSENT"
    case metadataUpdate = "METADATA_UPDATE"
    case migration = "MIGRATION"
    case priceChange = "PRICE_CHANGE"
    case unclaimSeats = "UNCLAIM_SEATS"

    /// Reads a type; Apple's documentation names the migration `MIGRATE`, its libraries `MIGRATION`.
    package init?(name: String) { self.init(rawValue: name == "MIGRATE" ? "MIGRATION" : name) }
}

/// The known notification subtypes, by Apple's names.
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
    case seats = "SEATS"
    case increaseQuantity = "INCREASE_QUANTITY"
    case decreaseQuantity = "DECREASE_QUANTITY"

    /// The types for which Apple documents the subtype.
    ///
    /// The switch is exhaustive, so that a new subtype needs a meaning as well.
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
        case .seats: [.refund]
        // Apple has not published the types of these subtypes.
        case .increaseQuantity, .decreaseQuantity: NotificationType.allCases
        }
    }
}
