/// The fields of a receipt: Apple's "Receipt Fields", and other fields of genuine receipts.
///
/// A field that a JWS also has uses its name in the JWS.
struct ReceiptField {
    enum Form {
        case text
        case date
        case integer
        /// An integer that is a string in a JWS; zero means absent.
        case identifier
        case flag
        /// The type of a product: only the value 3 has a known meaning, an auto-renewable subscription.
        case productType
        case bytes
    }

    let name: StaticString
    let form: Form

    private init(_ name: StaticString, _ form: Form) {
        self.name = name
        self.form = form
    }

    /// The number of in-app records, the only attribute that may repeat.
    static let inAppRecord: Int64 = 17
    static let transactionID: Int64 = 1703
    static let originalTransactionID: Int64 = 1705

    static let ofReceipt: [Int64: ReceiptField] = [
        0: ReceiptField("receiptType", .text), 1: ReceiptField("appAppleId", .integer),
        2: ReceiptField("bundleId", .text), 3: ReceiptField("applicationVersion", .text),
        4: ReceiptField("opaqueValue", .bytes), 5: ReceiptField("deviceHash", .bytes),
        8: ReceiptField("transactionDate", .date), 9: ReceiptField("fulfilmentToolVersion", .integer),
        10: ReceiptField("ageRating", .text), 11: ReceiptField("developerId", .integer),
        12: ReceiptField("receiptCreationDate", .date), 15: ReceiptField("downloadId", .integer),
        16: ReceiptField("versionExternalIdentifier", .integer), 18: ReceiptField("originalPurchaseDate", .date),
        19: ReceiptField("originalApplicationVersion", .text), 21: ReceiptField("expirationDate", .date),
    ]

    static let ofRecord: [Int64: ReceiptField] = [
        1701: ReceiptField("quantity", .integer), 1702: ReceiptField("productId", .text),
        transactionID: ReceiptField("transactionId", .text), 1704: ReceiptField("purchaseDate", .date),
        originalTransactionID: ReceiptField("originalTransactionId", .text),
        1706: ReceiptField("originalPurchaseDate", .date), 1707: ReceiptField("type", .productType),
        1708: ReceiptField("expiresDate", .date), 1711: ReceiptField("webOrderLineItemId", .identifier),
        1712: ReceiptField("revocationDate", .date), 1713: ReceiptField("isTrialPeriod", .flag),
        1719: ReceiptField("isInIntroOfferPeriod", .flag), 1721: ReceiptField("offerIdentifier", .text),
    ]
}

/// The values of attribute 0: the store that issued a receipt.
enum ReceiptType {
    static func environment(_ name: String) -> Environment? {
        func isNamed(_ other: String) -> Bool { name.utf8.elementsEqual(other.utf8) }
        return if isNamed("Production") || isNamed("ProductionVPP") {
            .production
        } else if isNamed("ProductionSandbox") || isNamed("ProductionVPPSandbox") { .sandbox } else if isNamed("Xcode")
        { .xcode } else { nil }
    }
}
