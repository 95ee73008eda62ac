/// A JWSTransactionDecodedPayload, to be signed.
///
/// Nil omits a member; `overrides` replaces a member with raw JSON or adds one.
package struct TransactionFields: Sendable {
    package var transactionID: String? = "2000000000000001"
    package var originalTransactionID: String? = "2000000000000001"
    package var webOrderLineItemID: String?
    package var bundleID: String? = "com.example.pro"
    package var productID: String? = "com.example.pro.monthly"
    package var subscriptionGroupIdentifier: String?
    package var purchaseDate: Int64? = 1_767_225_600_000
    package var originalPurchaseDate: Int64? = 1_767_225_600_000
    package var expiresDate: Int64?
    package var quantity: Int64? = 1
    package var type: String? = "Auto-Renewable Subscription"
    package var appAccountToken: String?
    package var inAppOwnershipType: String? = "PURCHASED"
    package var signedDate: Int64? = 1_767_225_601_000
    package var revocationReason: Int64?
    package var revocationDate: Int64?
    package var revocationType: String?
    package var revocationPercentage: Int64?
    package var isUpgraded: Bool?
    package var offerType: Int64?
    package var offerIdentifier: String?
    package var offerDiscountType: String?
    package var offerPeriod: String?
    package var environment: String? = "Production"
    package var storefront: String? = "USA"
    package var storefrontID: String? = "143441"
    package var transactionReason: String? = "PURCHASE"
    package var currency: String? = "USD"
    package var price: Int64? = 9_990
    package var appTransactionID: String?
    package var previousOriginalTransactionID: String?
    package var advancedCommerceInfo: [UInt8]?
    package var billingPlanType: String?
    package var commitmentInfo: [UInt8]?
    package var deviceVerification: String?
    package var deviceVerificationNonce: String?
    package var overrides: [String: String] = [:]

    package init() {}

    /// The payload's bytes.
    package var json: [UInt8] {
        var writer = FieldWriter(overrides: overrides)
        writer.add("transactionId", transactionID)
        writer.add("originalTransactionId", originalTransactionID)
        writer.add("webOrderLineItemId", webOrderLineItemID)
        writer.add("bundleId", bundleID)
        writer.add("productId", productID)
        writer.add("subscriptionGroupIdentifier", subscriptionGroupIdentifier)
        writer.add("purchaseDate", purchaseDate)
        writer.add("originalPurchaseDate", originalPurchaseDate)
        writer.add("expiresDate", expiresDate)
        writer.add("quantity", quantity)
        writer.add("type", type)
        writer.add("appAccountToken", appAccountToken)
        writer.add("inAppOwnershipType", inAppOwnershipType)
        writer.add("signedDate", signedDate)
        writer.add("revocationReason", revocationReason)
        writer.add("revocationDate", revocationDate)
        writer.add("revocationType", revocationType)
        writer.add("revocationPercentage", revocationPercentage)
        writer.add("isUpgraded", isUpgraded)
        writer.add("offerType", offerType)
        writer.add("offerIdentifier", offerIdentifier)
        writer.add("offerDiscountType", offerDiscountType)
        writer.add("offerPeriod", offerPeriod)
        writer.add("environment", environment)
        writer.add("storefront", storefront)
        writer.add("storefrontId", storefrontID)
        writer.add("transactionReason", transactionReason)
        writer.add("currency", currency)
        writer.add("price", price)
        writer.add("appTransactionId", appTransactionID)
        writer.add("previousOriginalTransactionId", previousOriginalTransactionID)
        writer.add("advancedCommerceInfo", json: advancedCommerceInfo)
        writer.add("billingPlanType", billingPlanType)
        writer.add("commitmentInfo", json: commitmentInfo)
        writer.add("deviceVerification", deviceVerification)
        writer.add("deviceVerificationNonce", deviceVerificationNonce)
        return writer.finish()
    }
}

/// A JWSRenewalInfoDecodedPayload, to be signed.
///
/// Nil omits a member; `overrides` replaces a member with raw JSON or adds one.
package struct RenewalFields: Sendable {
    package var expirationIntent: Int64?
    package var originalTransactionID: String? = "2000000000000001"
    package var autoRenewProductID: String? = "com.example.pro.monthly"
    package var productID: String? = "com.example.pro.monthly"
    package var autoRenewStatus: Int64? = 1
    package var isInBillingRetryPeriod: Bool?
    package var priceIncreaseStatus: Int64?
    package var gracePeriodExpiresDate: Int64?
    package var offerType: Int64?
    package var offerIdentifier: String?
    package var signedDate: Int64? = 1_767_225_601_000
    package var environment: String? = "Production"
    package var recentSubscriptionStartDate: Int64? = 1_767_225_600_000
    package var renewalDate: Int64?
    package var currency: String? = "USD"
    package var renewalPrice: Int64? = 9_990
    package var offerDiscountType: String?
    package var eligibleWinBackOfferIDs: [String]?
    package var appAccountToken: String?
    package var appTransactionID: String?
    package var offerPeriod: String?
    package var advancedCommerceInfo: [UInt8]?
    package var commitmentInfo: [UInt8]?
    package var renewalBillingPlanType: String?
    package var overrides: [String: String] = [:]

    package init() {}

    /// The payload's bytes.
    package var json: [UInt8] {
        var writer = FieldWriter(overrides: overrides)
        writer.add("expirationIntent", expirationIntent)
        writer.add("originalTransactionId", originalTransactionID)
        writer.add("autoRenewProductId", autoRenewProductID)
        writer.add("productId", productID)
        writer.add("autoRenewStatus", autoRenewStatus)
        writer.add("isInBillingRetryPeriod", isInBillingRetryPeriod)
        writer.add("priceIncreaseStatus", priceIncreaseStatus)
        writer.add("gracePeriodExpiresDate", gracePeriodExpiresDate)
        writer.add("offerType", offerType)
        writer.add("offerIdentifier", offerIdentifier)
        writer.add("signedDate", signedDate)
        writer.add("environment", environment)
        writer.add("recentSubscriptionStartDate", recentSubscriptionStartDate)
        writer.add("renewalDate", renewalDate)
        writer.add("currency", currency)
        writer.add("renewalPrice", renewalPrice)
        writer.add("offerDiscountType", offerDiscountType)
        writer.add("eligibleWinBackOfferIds", eligibleWinBackOfferIDs)
        writer.add("appAccountToken", appAccountToken)
        writer.add("appTransactionId", appTransactionID)
        writer.add("offerPeriod", offerPeriod)
        writer.add("advancedCommerceInfo", json: advancedCommerceInfo)
        writer.add("commitmentInfo", json: commitmentInfo)
        writer.add("renewalBillingPlanType", renewalBillingPlanType)
        return writer.finish()
    }
}

/// An AppTransaction, to be signed.
///
/// Nil omits a member; `overrides` replaces a member with raw JSON or adds one.
package struct AppTransactionFields: Sendable {
    package var receiptType: String? = "Production"
    package var appAppleID: Int64? = 1_234_567_890
    package var bundleID: String? = "com.example.pro"
    package var applicationVersion: String? = "3.1"
    package var versionExternalIdentifier: Int64? = 812_345_678
    package var receiptCreationDate: Int64? = 1_767_225_601_000
    package var originalPurchaseDate: Int64? = 1_735_689_600_000
    package var originalApplicationVersion: String? = "1.0"
    package var deviceVerification: String?
    package var deviceVerificationNonce: String?
    package var preorderDate: Int64?
    package var appTransactionID: String? = "704000000000000001"
    package var originalPlatform: String? = "iOS"
    package var overrides: [String: String] = [:]

    package init() {}

    /// The payload's bytes.
    package var json: [UInt8] {
        var writer = FieldWriter(overrides: overrides)
        writer.add("receiptType", receiptType)
        writer.add("appAppleId", appAppleID)
        writer.add("bundleId", bundleID)
        writer.add("applicationVersion", applicationVersion)
        writer.add("versionExternalIdentifier", versionExternalIdentifier)
        writer.add("receiptCreationDate", receiptCreationDate)
        writer.add("originalPurchaseDate", originalPurchaseDate)
        writer.add("originalApplicationVersion", originalApplicationVersion)
        writer.add("deviceVerification", deviceVerification)
        writer.add("deviceVerificationNonce", deviceVerificationNonce)
        writer.add("preorderDate", preorderDate)
        writer.add("appTransactionId", appTransactionID)
        writer.add("originalPlatform", originalPlatform)
        return writer.finish()
    }
}
