/// A JWSTransactionDecodedPayload, to be signed.
///
/// Nil leaves a member out; `overrides` puts raw JSON in place of a member or adds one.
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
