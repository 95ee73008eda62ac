package import JSON

/// A signed transaction (`JWSTransactionDecodedPayload`), read leniently in one pass.
///
/// A field with a wrong type or value is `nil`, as if absent, and counted in `malformedFields`; the payload itself is
/// forwarded as signed. Enumerations keep Apple's value.
package struct TransactionPayload: Sendable {
    package private(set) var originalTransactionID: PayloadText?
    package private(set) var transactionID: PayloadText?
    package private(set) var webOrderLineItemID: PayloadText?
    package private(set) var bundleID: PayloadText?
    package private(set) var productID: PayloadText?
    package private(set) var subscriptionGroupID: PayloadText?
    package private(set) var purchaseDate: Timestamp?
    package private(set) var expiresDate: Timestamp?
    package private(set) var quantity: Int32?
    package private(set) var type: ProductType?
    package private(set) var appAccountToken: AccountToken?
    package private(set) var ownershipType: OwnershipType?
    package private(set) var signedDate: Timestamp?
    package private(set) var revocationReason: Int32?
    package private(set) var revocationDate: Timestamp?
    package private(set) var isUpgraded: Bool?
    package private(set) var environment: PayloadText?
    package private(set) var reason: PayloadText?
    package private(set) var additionalReason: PayloadText?
    package private(set) var appTransactionID: PayloadText?
    package private(set) var revocationType: PayloadText?
    /// The revoked share in milliunits: 50000 is one half.
    package private(set) var revocationPercentage: Int32?
    package private(set) var advancedCommerce: JSONValue?
    package private(set) var multiSeat: JSONValue?
    package private(set) var revokedSeatQuantity: Int32?
    package private(set) var malformedFields = 0

    /// - Parameter payload: the signed object; any other value has no fields.
    package init(_ payload: JSONValue) { malformedFields = Self.fields.read(payload) { read($0, $1, by: &$2) } }

    private static let fields = FieldTable<TransactionField>()

    private mutating func read(_ field: TransactionField, _ value: JSONValue, by reader: inout FieldReader) {
        switch field {
        case .originalTransactionId: originalTransactionID = reader.identifier(value)
        case .transactionId: transactionID = reader.identifier(value)
        case .webOrderLineItemId: webOrderLineItemID = reader.identifier(value)
        case .bundleId: bundleID = reader.identifier(value)
        case .productId: productID = reader.identifier(value)
        case .subscriptionGroupIdentifier: subscriptionGroupID = reader.identifier(value)
        case .purchaseDate: purchaseDate = reader.date(value)
        case .expiresDate: expiresDate = reader.date(value)
        case .quantity: quantity = reader.int32(value)
        case .type: type = reader.identifier(value)?.productType
        case .appAccountToken: appAccountToken = reader.token(value)
        case .inAppOwnershipType: ownershipType = reader.identifier(value)?.ownershipType
        case .signedDate: signedDate = reader.date(value)
        case .revocationReason: revocationReason = reader.int32(value)
        case .revocationDate: revocationDate = reader.date(value)
        case .isUpgraded: isUpgraded = reader.bool(value)
        case .environment: environment = reader.identifier(value)
        case .transactionReason: reason = reader.identifier(value)
        case .additionalTransactionReason: additionalReason = reader.identifier(value)
        case .appTransactionId: appTransactionID = reader.identifier(value)
        case .revocationType: revocationType = reader.text(value)
        case .revocationPercentage: revocationPercentage = reader.int32(value)
        case .advancedCommerceInfo: advancedCommerce = reader.object(value)
        case .multiSeatInfo: multiSeat = reader.object(value)
        case .revokedSeatQuantity: revokedSeatQuantity = reader.int32(value)
        }
    }
}

enum TransactionField: String, PayloadField {
    case originalTransactionId, transactionId, webOrderLineItemId, bundleId, productId
    case subscriptionGroupIdentifier, purchaseDate, expiresDate, quantity, type, appAccountToken
    case inAppOwnershipType, signedDate, revocationReason, revocationDate, isUpgraded, environment
    case transactionReason, additionalTransactionReason, appTransactionId, revocationType
    case revocationPercentage, advancedCommerceInfo, multiSeatInfo, revokedSeatQuantity

    static let checked: [FieldKind: [String]] = [
        .text: [
            "offerIdentifier", "storefront", "storefrontId", "currency", "offerDiscountType", "offerPeriod",
            "billingPlanType",
        ], .identifier: ["previousOriginalTransactionId"], .date: ["originalPurchaseDate"], .int32: ["offerType"],
        .int64: ["price"], .object: ["commitmentInfo"],
    ]
}
