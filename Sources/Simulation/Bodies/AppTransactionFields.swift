/// An AppTransaction, to be signed.
///
/// Nil leaves a member out; `overrides` puts raw JSON in place of a member or adds one.
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
