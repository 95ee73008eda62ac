/// The meaning of a notification, from one table of type and subtype.
///
/// The meaning serves the history, the metrics and readers of an explanation. It never decides about access: the facts
/// do. Any transaction or renewal info in a notification is recorded, even if the notification only informs.
package enum NotificationMeaning: String, CaseIterable, Sendable {
    case subscribed
    case subscribedForTheFirstTime = "subscribed_for_the_first_time"
    case resubscribed
    case upgraded
    case downgradeScheduled = "downgrade_scheduled"
    case stayedWithPlan = "stayed_with_plan"
    case autoRenewEnabled = "auto_renew_enabled"
    case autoRenewDisabled = "auto_renew_disabled"
    case autoRenewChanged = "auto_renew_changed"
    case offerRedeemed = "offer_redeemed"
    case offerRedeemedWithUpgrade = "offer_redeemed_with_upgrade"
    case offerRedeemedWithDowngrade = "offer_redeemed_with_downgrade"
    case renewed
    case recoveredAfterBillingRetry = "recovered_after_billing_retry"
    case expired
    case expiredAfterCancellation = "expired_after_cancellation"
    case expiredAfterBillingRetry = "expired_after_billing_retry"
    case expiredWithoutPriceConsent = "expired_without_price_consent"
    case expiredAsProductIsGone = "expired_as_product_is_gone"
    case billingRetryBegan = "billing_retry_began"
    case gracePeriodBegan = "grace_period_began"
    /// Apple announced a grace period without an end, so it grants no access.
    case gracePeriodWithoutEnd = "grace_period_without_end"
    case gracePeriodEnded = "grace_period_ended"
    case priceIncreaseAnnounced = "price_increase_announced"
    case priceIncreasePending = "price_increase_pending"
    case priceIncreaseAccepted = "price_increase_accepted"
    case priceChanged = "price_changed"
    case refunded
    case refundDeclined = "refund_declined"
    case refundReversed = "refund_reversed"
    case consumptionAsked = "consumption_asked"
    case extended
    case extensionAsked = "extension_asked"
    case extensionCompleted = "extension_completed"
    case extensionFailed = "extension_failed"
    case familySharingLost = "family_sharing_lost"
    case test
    case externalPurchaseToken = "external_purchase_token"
    case externalPurchaseTokenCreated = "external_purchase_token_created"
    case externalPurchaseTokenUnreported = "external_purchase_token_unreported"
    case externalPurchaseTokenReminder = "external_purchase_token_reminder"
    case boughtOnce = "bought_once"
    case consentRescinded = "consent_rescinded"
    case metadataUpdated = "metadata_updated"
    case migrated
    case seatsUnclaimed = "seats_unclaimed"
    case seatsRefunded = "seats_refunded"
    case seatsIncreased = "seats_increased"
    case seatsDecreased = "seats_decreased"
    /// A known type with a known subtype that Apple does not document for it.
    case unexpectedSubtype = "unexpected_subtype"
    case unknownSubtype = "unknown_subtype"
    case unknownType = "unknown_type"

    /// Whether an operator should investigate: Apple sent a value that this table lacks.
    package var isUnknown: Bool {
        switch self {
        case .unexpectedSubtype, .unknownSubtype, .unknownType: true
        default: false
        }
    }
}

extension NotificationMeaning {
    /// The meaning, refined by the notification's renewal info, if any.
    package func with(_ renewal: RenewalFact?) -> NotificationMeaning {
        guard self == .gracePeriodBegan, renewal?.gracePeriodExpiresDate == nil else { return self }
        return .gracePeriodWithoutEnd
    }

    /// - Parameters:
    ///   - type: Apple's `notificationType`.
    ///   - subtype: Apple's `subtype`, `nil` if absent.
    package init(type: String, subtype: String?) {
        guard let known = NotificationType(name: type) else {
            self = .unknownType
            return
        }
        guard let subtype else {
            self = Self.meaning(of: known)
            return
        }
        guard let knownSubtype = NotificationSubtype(rawValue: subtype) else {
            self = .unknownSubtype
            return
        }
        self = knownSubtype.types.contains(known) ? Self.meaning(of: knownSubtype, in: known) : .unexpectedSubtype
    }

    private static func meaning(of type: NotificationType) -> NotificationMeaning {
        switch type {
        case .subscribed: .subscribed
        case .didChangeRenewalPreference: .stayedWithPlan
        case .didChangeRenewalStatus: .autoRenewChanged
        case .offerRedeemed: .offerRedeemed
        case .didRenew: .renewed
        case .expired: .expired
        case .didFailToRenew: .billingRetryBegan
        case .gracePeriodExpired: .gracePeriodEnded
        case .priceIncrease: .priceIncreaseAnnounced
        case .refund: .refunded
        case .refundDeclined: .refundDeclined
        case .consumptionRequest: .consumptionAsked
        case .renewalExtended: .extended
        case .revoke: .familySharingLost
        case .test: .test
        case .renewalExtension: .extensionAsked
        case .refundReversed: .refundReversed
        case .externalPurchaseToken: .externalPurchaseToken
        case .oneTimeCharge: .boughtOnce
        case .rescindConsent: .consentRescinded
        case .metadataUpdate: .metadataUpdated
        case .migration: .migrated
        case .priceChange: .priceChanged
        case .unclaimSeats: .seatsUnclaimed
        }
    }

    private static func meaning(of subtype: NotificationSubtype, in type: NotificationType) -> NotificationMeaning {
        switch subtype {
        case .initialBuy: .subscribedForTheFirstTime
        case .resubscribe: .resubscribed
        case .upgrade: type == .offerRedeemed ? .offerRedeemedWithUpgrade : .upgraded
        case .downgrade: type == .offerRedeemed ? .offerRedeemedWithDowngrade : .downgradeScheduled
        case .autoRenewEnabled: .autoRenewEnabled
        case .autoRenewDisabled: .autoRenewDisabled
        case .voluntary: .expiredAfterCancellation
        case .billingRetry: .expiredAfterBillingRetry
        case .priceIncrease: .expiredWithoutPriceConsent
        case .productNotForSale: .expiredAsProductIsGone
        case .gracePeriod: .gracePeriodBegan
        case .pending: .priceIncreasePending
        case .accepted: .priceIncreaseAccepted
        case .billingRecovery: .recoveredAfterBillingRetry
        case .summary: .extensionCompleted
        case .failure: .extensionFailed
        case .unreported: .externalPurchaseTokenUnreported
        case .activeTokenReminder: .externalPurchaseTokenReminder
        case .created: .externalPurchaseTokenCreated
        case .seats: .seatsRefunded
        case .increaseQuantity: .seatsIncreased
        case .decreaseQuantity: .seatsDecreased
        }
    }
}
