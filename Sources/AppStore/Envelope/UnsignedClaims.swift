import JSON

/// The unsigned fields beside an item that have a signed counterpart.
typealias UnsignedClaims = KnownMembers<UnsignedClaim>

/// The spellings of the app's claims and of the API's fields.
enum UnsignedClaim: String, PayloadField {
    case transactionID, transactionId, originalTransactionID, originalTransactionId
    case productID, productId, offerID, offerIdentifier, environment, bundleID, bundleId
    case appAppleId, appTransactionId

    private static let table = FieldTable<UnsignedClaim>()

    static func all(in object: JSONValue) -> UnsignedClaims {
        UnsignedClaims(of: object, named: table)
    }
}
