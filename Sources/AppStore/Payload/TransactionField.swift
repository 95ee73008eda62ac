enum TransactionField: String, PayloadField {
    case originalTransactionId, transactionId, webOrderLineItemId, bundleId, productId
    case subscriptionGroupIdentifier, purchaseDate, originalPurchaseDate, expiresDate, quantity
    case type, appAccountToken, inAppOwnershipType, signedDate, revocationReason, revocationDate
    case isUpgraded, offerType, offerIdentifier, environment, storefront, storefrontId
    case transactionReason, currency, price, offerDiscountType, appTransactionId, offerPeriod
    case revocationType, revocationPercentage, advancedCommerceInfo, billingPlanType
    case commitmentInfo, previousOriginalTransactionId
}
