extension NotificationMeaning {
    /// - Parameters:
    ///   - type: Apple's `notificationType`.
    ///   - subtype: Apple's `subtype`; nil when there is none.
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
        self =
            knownSubtype.types.contains(known)
            ? Self.meaning(of: knownSubtype, in: known) : .unexpectedSubtype
    }

    /// Without a subtype.
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
        }
    }

    private static func meaning(
        of subtype: NotificationSubtype,
        in type: NotificationType
    ) -> NotificationMeaning {
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
        }
    }
}
