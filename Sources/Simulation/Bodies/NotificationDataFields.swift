/// The `data` of a notification.
///
/// Nil leaves a member out; `overrides` puts raw JSON in place of a member or adds one.
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
