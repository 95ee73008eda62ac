import JSON

/// A payload to be signed, or a part of one: each property is a member, in the order of Apple's
/// documentation.
///
/// `nil` omits the member.
///
/// A member has its property's name, but Apple's spelling of `ID`. Bytes are JSON already.
package protocol PayloadFields: Sendable {
    /// Raw JSON instead of a member's value, or as a further member.
    var overrides: [String: String] { get }
}

extension PayloadFields {
    /// The payload's bytes; overrides that replaced nothing come last.
    package var json: [UInt8] {
        var overrides = overrides
        var members: [(String, JSONContent)] = []
        for (property, value) in Mirror(reflecting: self).children {
            guard let property, property != "overrides" else { continue }
            let name = property.hasSuffix("UUID") ? property : property.replacing("ID", with: "Id")
            if let raw = overrides.removeValue(forKey: name) {
                members.append((name, .raw(Array(raw.utf8))))
            } else if let value = value as? any JSONRepresentable {
                if case .null = value.json { continue }
                members.append((name, value.json))
            } else if let bytes = value as? [UInt8] {
                members.append((name, .raw(bytes)))
            }
        }
        for (name, raw) in overrides.sorted(by: { $0.key < $1.key }) { members.append((name, .raw(Array(raw.utf8)))) }
        return JSONContent.object(members).bytes
    }
}

/// A JWSTransactionDecodedPayload, to be signed.
package struct TransactionFields: PayloadFields {
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
}

/// A JWSRenewalInfoDecodedPayload, to be signed.
package struct RenewalFields: PayloadFields {
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
}

/// An AppTransaction, to be signed.
package struct AppTransactionFields: PayloadFields {
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
}

/// A notification's ResponseBodyV2DecodedPayload, to be signed.
package struct NotificationFields: PayloadFields {
    package var notificationType: String? = "TEST"
    package var subtype: String?
    package var notificationUUID: String? = "002e14d5-51f5-4503-b5a8-c3a1af68eb20"
    package var data: [UInt8]?
    package var summary: [UInt8]?
    package var externalPurchaseToken: [UInt8]?
    package var appData: [UInt8]?
    package var version: String? = "2.0"
    package var signedDate: Int64? = 1_767_225_601_000
    package var overrides: [String: String] = [:]

    package init() {}
}

/// The `data` of a notification.
package struct NotificationDataFields: PayloadFields {
    package var environment: String? = "Production"
    package var appAppleID: Int64? = 1_234_567_890
    package var bundleID: String? = "com.example.pro"
    package var bundleVersion: String? = "3.1"
    package var signedTransactionInfo: String?
    package var signedRenewalInfo: String?
    package var status: Int64?
    package var consumptionRequestReason: String?
    package var overrides: [String: String] = [:]

    package init() {}
}
