package import JSON

/// A signed renewal info (`JWSRenewalInfoDecodedPayload`), read leniently in one pass.
///
/// The payload names no app; see `Trust` for the purchases that it applies to.
package struct RenewalPayload: Sendable {
    package private(set) var expirationIntent: Int32?
    package private(set) var originalTransactionID: PayloadText?
    package private(set) var autoRenewProductID: PayloadText?
    package private(set) var productID: PayloadText?
    package private(set) var autoRenewStatus: Int32?
    package private(set) var isInBillingRetryPeriod: Bool?
    package private(set) var priceIncreaseStatus: Int32?
    package private(set) var gracePeriodExpiresDate: Timestamp?
    package private(set) var signedDate: Timestamp?
    package private(set) var environment: PayloadText?
    package private(set) var renewalDate: Timestamp?
    package private(set) var appAccountToken: AccountToken?
    package private(set) var appTransactionID: PayloadText?
    package private(set) var malformedFields = 0

    /// - Parameter payload: the signed object; any other value has no fields.
    package init(_ payload: JSONValue) { malformedFields = Self.fields.read(payload) { read($0, $1, by: &$2) } }

    private static let fields = FieldTable<RenewalField>()

    private mutating func read(_ field: RenewalField, _ value: JSONValue, by reader: inout FieldReader) {
        switch field {
        case .expirationIntent: expirationIntent = reader.int32(value)
        case .originalTransactionId: originalTransactionID = reader.identifier(value)
        case .autoRenewProductId: autoRenewProductID = reader.identifier(value)
        case .productId: productID = reader.identifier(value)
        case .autoRenewStatus: autoRenewStatus = reader.int32(value)
        case .isInBillingRetryPeriod: isInBillingRetryPeriod = reader.bool(value)
        case .priceIncreaseStatus: priceIncreaseStatus = reader.int32(value)
        case .gracePeriodExpiresDate: gracePeriodExpiresDate = reader.date(value)
        case .signedDate: signedDate = reader.date(value)
        case .environment: environment = reader.identifier(value)
        case .renewalDate: renewalDate = reader.date(value)
        case .appAccountToken: appAccountToken = reader.token(value)
        case .appTransactionId: appTransactionID = reader.identifier(value)
        }
    }
}

enum RenewalField: String, PayloadField {
    case expirationIntent, originalTransactionId, autoRenewProductId, productId, autoRenewStatus
    case isInBillingRetryPeriod, priceIncreaseStatus, gracePeriodExpiresDate, signedDate, environment, renewalDate
    case appAccountToken, appTransactionId

    static let checked: [FieldKind: [String]] = [
        .text: ["offerIdentifier", "currency", "offerDiscountType", "offerPeriod", "renewalBillingPlanType"],
        .date: ["recentSubscriptionStartDate"], .int32: ["offerType"], .int64: ["renewalPrice"],
        .object: ["advancedCommerceInfo", "commitmentInfo"], .array: ["eligibleWinBackOfferIds"],
    ]
}
