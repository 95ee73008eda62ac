package import JSON

/// A signed renewal info (`JWSRenewalInfoDecodedPayload`), read leniently in one pass.
///
/// It names no app; see `Trust` for the purchases that it applies to.
package struct RenewalPayload: Sendable {
    package private(set) var expirationIntent: Int32?
    package private(set) var originalTransactionID: PayloadText?
    package private(set) var autoRenewProductID: PayloadText?
    package private(set) var productID: PayloadText?
    package private(set) var autoRenewStatus: Int32?
    package private(set) var isInBillingRetryPeriod: Bool?
    package private(set) var priceIncreaseStatus: Int32?
    package private(set) var gracePeriodExpiresDate: Timestamp?
    package private(set) var offerType: Int32?
    package private(set) var offerID: PayloadText?
    package private(set) var signedDate: Timestamp?
    package private(set) var environment: PayloadText?
    package private(set) var recentSubscriptionStartDate: Timestamp?
    package private(set) var renewalDate: Timestamp?
    package private(set) var currency: PayloadText?
    /// Milliunits of the currency.
    package private(set) var renewalPrice: Int64?
    package private(set) var offerDiscountType: PayloadText?
    package private(set) var eligibleWinBackOfferIDs: JSONValue?
    package private(set) var appAccountToken: AccountToken?
    package private(set) var appTransactionID: PayloadText?
    package private(set) var offerPeriod: PayloadText?
    package private(set) var advancedCommerce: JSONValue?
    package private(set) var commitment: JSONValue?
    package private(set) var billingPlanType: PayloadText?
    package private(set) var malformedFields = 0

    /// - Parameter payload: the signed object; any other value has no fields.
    package init(_ payload: JSONValue) {
        malformedFields = Self.fields.read(payload) { read($0, $1, &$2) }
    }

    private static let fields = FieldTable<RenewalField>()

    private mutating func read(
        _ field: RenewalField,
        _ value: JSONValue,
        _ reader: inout FieldReader
    ) {
        switch field {
        case .expirationIntent: expirationIntent = reader.int32(value)
        case .originalTransactionId: originalTransactionID = reader.identifier(value)
        case .autoRenewProductId: autoRenewProductID = reader.identifier(value)
        case .productId: productID = reader.identifier(value)
        case .autoRenewStatus: autoRenewStatus = reader.int32(value)
        case .isInBillingRetryPeriod: isInBillingRetryPeriod = reader.bool(value)
        case .priceIncreaseStatus: priceIncreaseStatus = reader.int32(value)
        case .gracePeriodExpiresDate: gracePeriodExpiresDate = reader.date(value)
        case .offerType: offerType = reader.int32(value)
        case .offerIdentifier: offerID = reader.text(value)
        case .signedDate: signedDate = reader.date(value)
        case .environment: environment = reader.identifier(value)
        case .recentSubscriptionStartDate: recentSubscriptionStartDate = reader.date(value)
        case .renewalDate: renewalDate = reader.date(value)
        case .currency: currency = reader.text(value)
        case .renewalPrice: renewalPrice = reader.int64(value)
        case .offerDiscountType: offerDiscountType = reader.text(value)
        case .eligibleWinBackOfferIds: eligibleWinBackOfferIDs = reader.array(value)
        case .appAccountToken: appAccountToken = reader.token(value)
        case .appTransactionId: appTransactionID = reader.identifier(value)
        case .offerPeriod: offerPeriod = reader.text(value)
        case .advancedCommerceInfo: advancedCommerce = reader.object(value)
        case .commitmentInfo: commitment = reader.object(value)
        case .renewalBillingPlanType: billingPlanType = reader.text(value)
        }
    }
}

enum RenewalField: String, PayloadField {
    case expirationIntent, originalTransactionId, autoRenewProductId, productId, autoRenewStatus
    case isInBillingRetryPeriod, priceIncreaseStatus, gracePeriodExpiresDate, offerType
    case offerIdentifier, signedDate, environment, recentSubscriptionStartDate, renewalDate
    case currency, renewalPrice, offerDiscountType, eligibleWinBackOfferIds, appAccountToken
    case appTransactionId, offerPeriod, advancedCommerceInfo, commitmentInfo
    case renewalBillingPlanType
}
