import AppStore
import JSON
import Records

/// The parts of an original that auditors see before they ask to reveal it.
///
/// An allow list: the original is untrusted, and a list of secrets is never complete. A value is
/// shown if its name is listed here and its form is that of an identifier, a number or a date. For
/// everything else only the size is shown. A name that is not listed is hidden too.
package enum Disclosure {
    /// Members of bodies, of payloads signed by Apple and of observations whose values are shown.
    package static let shownMembers: Set<String> = [
        // Bodies and answers of Apple's API.
        "data", "lastTransactions", "status", "notificationHistory", "sendAttempts", "attemptDate", "sendAttemptResult",
        "hasMore", "transactionID", "bundleID", "productID", "offerID", "originalTransactionID",
        // JWS headers.
        "alg", "kid", "typ",
        // Transactions.
        "originalTransactionId", "transactionId", "webOrderLineItemId", "bundleId", "productId",
        "subscriptionGroupIdentifier", "purchaseDate", "originalPurchaseDate", "expiresDate", "quantity", "type",
        "inAppOwnershipType", "signedDate", "revocationReason", "revocationDate", "isUpgraded", "offerType",
        "offerIdentifier", "environment", "storefront", "storefrontId", "transactionReason", "currency", "price",
        "offerDiscountType", "offerPeriod", "revocationType", "revocationPercentage", "advancedCommerceInfo",
        "billingPlanType", "commitmentInfo", "previousOriginalTransactionId", "additionalTransactionReason",
        "multiSeatInfo", "invitationManagement", "priceTiers", "revokedSeatQuantity", "billingPeriodNumber",
        "commitmentExpiresDate", "commitmentPrice", "totalBillingPeriods", "estimatedTax", "items", "period", "taxCode",
        "taxExclusivePrice", "taxRate", "SKU", "offer", "refunds", "refundAmount", "refundDate", "refundReason",
        "refundType", "periodCount",
        // Renewal infos.
        "expirationIntent", "autoRenewProductId", "autoRenewStatus", "isInBillingRetryPeriod", "priceIncreaseStatus",
        "gracePeriodExpiresDate", "recentSubscriptionStartDate", "renewalDate", "renewalPrice",
        "eligibleWinBackOfferIds", "renewalBillingPlanType", "renewalQuantity", "renewalPriceTiers",
        "commitmentAutoRenewProductId", "commitmentAutoRenewStatus", "commitmentRenewalBillingPlanType",
        "commitmentRenewalDate", "commitmentRenewalPrice", "priceIncreaseInfo", "dependentSKUs",
        // Notifications.
        "notificationType", "subtype", "notificationUUID", "version", "summary", "appData", "appAppleId",
        "bundleVersion", "consumptionRequestReason", "requestIdentifier", "storefrontCountryCodes", "succeededCount",
        "failedCount", "unclaimInfo", "externalPurchaseToken", "tokenCreationDate", "tokenExpirationDate", "tokenType",
        // App transactions and receipts.
        "receiptType", "applicationVersion", "versionExternalIdentifier", "receiptCreationDate",
        "originalApplicationVersion", "preorderDate", "originalPlatform", "requestDate", "transactionDate",
        "fulfilmentToolVersion", "ageRating", "developerId", "downloadId", "expirationDate", "receiptExpirationDate",
        "isTrialPeriod", "isInIntroOfferPeriod",
        // Observations.
        "schemaVersion", "source", "topic", "partition", "offset", "timestamp", "index", "count", "verification",
        "date", "leaf", "root", "trust", "method", "verifier", "facts", "transaction", "renewalInfo", "appTransaction",
        "receipt", "notification", "payloads", "payloadBytes", "claims", "input", "owner", "rule", "isDuplicate",
        "relinkedPurchase", "contentHash", "autoRenewProductID", "isFamilyShared", "isInBillingRetry",
        "subscriptionGroupID", "revocation", "reason", "percentage", "uuid",
    ]

    /// Members whose names are shown, but never their values.
    package static let namedMembers: Set<String> = [
        "signedPayload", "signedTransaction", "signedTransactions", "signedTransactionInfo", "signedRenewalInfo",
        "signedAppTransactionInfo", "receipt-data", "password", "exclude-old-transactions", "x5c", "appAccountToken",
        "appTransactionId", "appTransactionID", "deviceVerification", "deviceVerificationNonce", "opaqueValue",
        "deviceHash", "attributes", "receiptAttributes", "descriptors", "description", "displayName",
        "requestReferenceId", "consistencyToken", "externalPurchaseId", "unclaimSeatIds", "applicationUsername",
        "sharedSecret", "ingestUserID", "userID",
    ]

    package static let shownHeaders: Set<String> = [
        "correlation-id", "traceparent", "producer", "client-id", "source", "ce_source", "ce_type", "ce_specversion",
        "content-type", DeadLetterHeader.replayOf,
    ]

    /// Headers whose names are shown, but never their values.
    package static let namedHeaders: Set<String> = ["user-id", "authorization", "cookie", "x-api-key"]

    private static let numberBytesMax = 40

    /// Whether a string, number, Boolean or null of a listed member has a harmless form.
    static func isHarmless(_ value: JSONValue) -> Bool {
        switch value.kind {
        case .object, .array: false
        case .bool, .null: true
        case .number: value.range.count <= numberBytesMax
        case .string:
            value.range.count <= UnverifiedText.bytesMax * 6
                && (value.stringBytes.map { UnverifiedText.isHarmless($0) } ?? false)
        }
    }

    /// The name of a listed member, and whether its value may be shown.
    ///
    /// `nil` for any other name.
    static func name(of key: JSONValue) -> (text: String, isShown: Bool)? {
        guard key.range.count <= UnverifiedText.bytesMax, let text = key.string else { return nil }
        if shownMembers.contains(text) { return (text, true) }
        return namedMembers.contains(text) ? (text, false) : nil
    }

    /// The text in place of a hidden value.
    static func hidden(_ bytes: Int) -> String { "<\(bytes) bytes hidden>" }
}
