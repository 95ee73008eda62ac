package import JSON

/// A signed transaction (`JWSTransactionDecodedPayload`), read leniently in one pass.
///
/// A field of a wrong type or value is nil, as if absent, and counted in `malformedFields`; the
/// payload itself is forwarded as signed. Enumerations keep Apple's value.
package struct TransactionPayload: Sendable {
    package private(set) var originalTransactionID: PayloadText?
    package private(set) var transactionID: PayloadText?
    package private(set) var webOrderLineItemID: PayloadText?
    package private(set) var bundleID: PayloadText?
    package private(set) var productID: PayloadText?
    package private(set) var subscriptionGroupID: PayloadText?
    package private(set) var purchaseDate: Timestamp?
    package private(set) var originalPurchaseDate: Timestamp?
    package private(set) var expiresDate: Timestamp?
    package private(set) var quantity: Int32?
    package private(set) var type: ProductType?
    package private(set) var appAccountToken: AccountToken?
    package private(set) var ownershipType: OwnershipType?
    package private(set) var signedDate: Timestamp?
    package private(set) var revocationReason: Int32?
    package private(set) var revocationDate: Timestamp?
    package private(set) var isUpgraded: Bool?
    package private(set) var offerType: Int32?
    package private(set) var offerID: PayloadText?
    package private(set) var environment: PayloadText?
    package private(set) var storefront: PayloadText?
    package private(set) var storefrontID: PayloadText?
    package private(set) var reason: PayloadText?
    package private(set) var additionalReason: PayloadText?
    package private(set) var currency: PayloadText?
    /// Milliunits of the currency.
    package private(set) var price: Int64?
    package private(set) var offerDiscountType: PayloadText?
    package private(set) var appTransactionID: PayloadText?
    package private(set) var offerPeriod: PayloadText?
    package private(set) var revocationType: PayloadText?
    /// Milliunits: 50000 is one half.
    package private(set) var revocationPercentage: Int32?
    package private(set) var advancedCommerce: JSONValue?
    package private(set) var billingPlanType: PayloadText?
    package private(set) var commitment: JSONValue?
    package private(set) var multiSeat: JSONValue?
    package private(set) var revokedSeatQuantity: Int32?
    package private(set) var previousOriginalTransactionID: PayloadText?
    package private(set) var malformedFields = 0

    /// - Parameter payload: the signed object; any other value has no fields.
    package init(_ payload: JSONValue) {
        malformedFields = Self.fields.read(payload) { read($0, $1, &$2) }
    }

    private static let fields = FieldTable<TransactionField>()

    private mutating func read(
        _ field: TransactionField,
        _ value: JSONValue,
        _ reader: inout FieldReader
    ) {
        switch field {
        case .originalTransactionId: originalTransactionID = reader.identifier(value)
        case .transactionId: transactionID = reader.identifier(value)
        case .webOrderLineItemId: webOrderLineItemID = reader.identifier(value)
        case .bundleId: bundleID = reader.identifier(value)
        case .productId: productID = reader.identifier(value)
        case .subscriptionGroupIdentifier: subscriptionGroupID = reader.identifier(value)
        case .purchaseDate: purchaseDate = reader.date(value)
        case .originalPurchaseDate: originalPurchaseDate = reader.date(value)
        case .expiresDate: expiresDate = reader.date(value)
        case .quantity: quantity = reader.int32(value)
        case .type: type = reader.identifier(value)?.productType
        case .appAccountToken: appAccountToken = reader.token(value)
        case .inAppOwnershipType: ownershipType = reader.identifier(value)?.ownershipType
        case .signedDate: signedDate = reader.date(value)
        case .revocationReason: revocationReason = reader.int32(value)
        case .revocationDate: revocationDate = reader.date(value)
        case .isUpgraded: isUpgraded = reader.bool(value)
        case .offerType: offerType = reader.int32(value)
        case .offerIdentifier: offerID = reader.text(value)
        case .environment: environment = reader.identifier(value)
        case .storefront: storefront = reader.text(value)
        case .storefrontId: storefrontID = reader.text(value)
        case .transactionReason: reason = reader.identifier(value)
        case .additionalTransactionReason: additionalReason = reader.identifier(value)
        case .currency: currency = reader.text(value)
        case .price: price = reader.int64(value)
        case .offerDiscountType: offerDiscountType = reader.text(value)
        case .appTransactionId: appTransactionID = reader.identifier(value)
        case .offerPeriod: offerPeriod = reader.text(value)
        case .revocationType: revocationType = reader.text(value)
        case .revocationPercentage: revocationPercentage = reader.int32(value)
        case .advancedCommerceInfo: advancedCommerce = reader.object(value)
        case .billingPlanType: billingPlanType = reader.text(value)
        case .commitmentInfo: commitment = reader.object(value)
        case .multiSeatInfo: multiSeat = reader.object(value)
        case .revokedSeatQuantity: revokedSeatQuantity = reader.int32(value)
        case .previousOriginalTransactionId:
            previousOriginalTransactionID = reader.identifier(value)
        }
    }
}

enum TransactionField: String, PayloadField {
    case originalTransactionId, transactionId, webOrderLineItemId, bundleId, productId
    case subscriptionGroupIdentifier, purchaseDate, originalPurchaseDate, expiresDate, quantity
    case type, appAccountToken, inAppOwnershipType, signedDate, revocationReason, revocationDate
    case isUpgraded, offerType, offerIdentifier, environment, storefront, storefrontId
    case transactionReason, additionalTransactionReason, currency, price, offerDiscountType
    case appTransactionId, offerPeriod
    case revocationType, revocationPercentage, advancedCommerceInfo, billingPlanType
    case commitmentInfo, multiSeatInfo, revokedSeatQuantity, previousOriginalTransactionId
}
