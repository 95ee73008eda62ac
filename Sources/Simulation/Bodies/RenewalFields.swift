/// A JWSRenewalInfoDecodedPayload, to be signed.
///
/// Nil leaves a member out; `overrides` puts raw JSON in place of a member or adds one.
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
