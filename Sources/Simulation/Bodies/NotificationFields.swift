/// A notification's ResponseBodyV2DecodedPayload, to be signed.
///
/// Nil omits a member; `overrides` replaces a member with raw JSON or adds one.
package struct NotificationFields: Sendable {
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

    /// The payload's bytes.
    package var json: [UInt8] {
        var writer = FieldWriter(overrides: overrides)
        writer.add("notificationType", notificationType)
        writer.add("subtype", subtype)
        writer.add("notificationUUID", notificationUUID)
        writer.add("data", json: data)
        writer.add("summary", json: summary)
        writer.add("externalPurchaseToken", json: externalPurchaseToken)
        writer.add("appData", json: appData)
        writer.add("version", version)
        writer.add("signedDate", signedDate)
        return writer.finish()
    }
}

/// The `data` of a notification.
///
/// Nil omits a member; `overrides` replaces a member with raw JSON or adds one.
package struct NotificationDataFields: Sendable {
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

    /// The payload's bytes.
    package var json: [UInt8] {
        var writer = FieldWriter(overrides: overrides)
        writer.add("environment", environment)
        writer.add("appAppleId", appAppleID)
        writer.add("bundleId", bundleID)
        writer.add("bundleVersion", bundleVersion)
        writer.add("signedTransactionInfo", signedTransactionInfo)
        writer.add("signedRenewalInfo", signedRenewalInfo)
        writer.add("status", status)
        writer.add("consumptionRequestReason", consumptionRequestReason)
        return writer.finish()
    }
}
