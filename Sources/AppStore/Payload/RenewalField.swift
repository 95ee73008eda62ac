enum RenewalField: String, PayloadField {
    case expirationIntent, originalTransactionId, autoRenewProductId, productId, autoRenewStatus
    case isInBillingRetryPeriod, priceIncreaseStatus, gracePeriodExpiresDate, offerType
    case offerIdentifier, signedDate, environment, recentSubscriptionStartDate, renewalDate
    case currency, renewalPrice, offerDiscountType, eligibleWinBackOfferIds, appAccountToken
    case appTransactionId, offerPeriod, advancedCommerceInfo, commitmentInfo
    case renewalBillingPlanType
}
