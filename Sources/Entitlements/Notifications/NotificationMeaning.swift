/// What a notification means here: one table of type and subtype.
///
/// The meaning is for the history, the metrics and the readers of an explanation. It never decides
/// who may use what: the facts do, and whatever transaction or renewal info a notification carries
/// is recorded, also by those that only inform.
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
    /// A known type with a known subtype that Apple does not document for it.
    case unexpectedSubtype = "unexpected_subtype"
    case unknownSubtype = "unknown_subtype"
    case unknownType = "unknown_type"

    /// Whether somebody should look: Apple has begun to send what this table does not know.
    package var isUnknown: Bool {
        switch self {
        case .unexpectedSubtype, .unknownSubtype, .unknownType: true
        default: false
        }
    }
}
