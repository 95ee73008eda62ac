package import JSON

/// A signed app transaction (`AppTransaction`), read leniently in one pass.
package struct AppTransactionPayload: Sendable {
    /// The environment, from `receiptType`.
    package private(set) var environment: PayloadText?
    package private(set) var appAppleID: Int64?
    package private(set) var bundleID: PayloadText?
    package private(set) var applicationVersion: PayloadText?
    /// The date of signing, from `receiptCreationDate`.
    package private(set) var signedDate: Timestamp?
    package private(set) var originalPurchaseDate: Timestamp?
    package private(set) var originalApplicationVersion: PayloadText?
    package private(set) var preorderDate: Timestamp?
    package private(set) var appTransactionID: PayloadText?
    package private(set) var originalPlatform: PayloadText?
    package private(set) var malformedFields = 0

    /// - Parameter payload: the signed object; any other value has no fields.
    package init(_ payload: JSONValue) { malformedFields = Self.fields.read(payload) { read($0, $1, by: &$2) } }

    private static let fields = FieldTable<Field>()

    enum Field: String, PayloadField {
        case receiptType, appAppleId, bundleId, applicationVersion
        case receiptCreationDate, originalPurchaseDate, originalApplicationVersion
        case preorderDate, appTransactionId, originalPlatform

        static let checked: [FieldKind: [String]] = [.int64: ["versionExternalIdentifier"]]
    }

    private mutating func read(_ field: Field, _ value: JSONValue, by reader: inout FieldReader) {
        switch field {
        case .receiptType: environment = reader.identifier(value)
        case .appAppleId: appAppleID = reader.int64(value)
        case .bundleId: bundleID = reader.identifier(value)
        case .applicationVersion: applicationVersion = reader.text(value)
        case .receiptCreationDate: signedDate = reader.date(value)
        case .originalPurchaseDate: originalPurchaseDate = reader.date(value)
        case .originalApplicationVersion: originalApplicationVersion = reader.text(value)
        case .preorderDate: preorderDate = reader.date(value)
        case .appTransactionId: appTransactionID = reader.identifier(value)
        case .originalPlatform: originalPlatform = reader.text(value)
        }
    }
}
