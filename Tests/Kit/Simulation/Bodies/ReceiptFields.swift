internal import AppStore
package import OpenSSL

/// An App Store receipt's attributes, to be signed.
///
/// An attribute that is `nil` is omitted; `further` adds any other, or repeats one.
package struct ReceiptFields: Sendable {
    package var receiptType: String? = "Production"
    package var appAppleID: Int? = 1_234_567_890
    package var bundleID: String? = "com.example.pro"
    package var applicationVersion: String? = "3.1"
    package var originalApplicationVersion: String? = "1.0"
    /// Milliseconds since 1970, as all dates here; a receipt has whole seconds.
    package var creationDate: Int64? = 1_767_225_601_000
    package var originalPurchaseDate: Int64? = 1_735_689_600_000
    package var expirationDate: Int64?
    package var records: [ReceiptRecordFields] = []
    package var further: [[UInt8]] = []

    package init() {}

    /// The signed content: the SET of all attributes.
    package var content: [UInt8] {
        var attributes: [[UInt8]?] = [
            receiptType.map { Self.attribute(0, text: $0) }, appAppleID.map { Self.attribute(1, integer: $0) },
            bundleID.map { Self.attribute(2, text: $0) }, applicationVersion.map { Self.attribute(3, text: $0) },
            Self.attribute(4, version: 2, Array(1...16)), Self.attribute(5, Array(SHA256.digest([1]).bytes.prefix(20))),
            Self.attribute(8, date: ""), creationDate.map { Self.attribute(12, date: $0) },
            Self.attribute(14, integer: 229), originalPurchaseDate.map { Self.attribute(18, date: $0) },
            originalApplicationVersion.map { Self.attribute(19, text: $0) },
            expirationDate.map { Self.attribute(21, date: $0) },
        ]
        attributes += records.map { Self.attribute(17, $0.content) }
        return DER.element(0x31, Array((attributes.compactMap { $0 } + further).joined()))
    }

    /// - Parameter value: what its OCTET STRING holds.
    package static func attribute(_ number: Int, version: Int = 1, _ value: [UInt8]) -> [UInt8] {
        DER.sequence([DER.integer(number), DER.integer(version), DER.octetString(value)])
    }

    package static func attribute(_ number: Int, text: String) -> [UInt8] { attribute(number, DER.utf8String(text)) }

    package static func attribute(_ number: Int, integer: Int) -> [UInt8] { attribute(number, DER.integer(integer)) }

    /// - Parameter date: the text, valid or not.
    package static func attribute(_ number: Int, date: String) -> [UInt8] {
        attribute(number, DER.element(0x16, Array(date.utf8)))
    }

    static func attribute(_ number: Int, date: Int64) -> [UInt8] {
        let seconds = Timestamp(milliseconds: date).wholeSeconds
        return attribute(number, date: Timestamp(milliseconds: seconds * 1000).description)
    }
}

/// An in-app record of a receipt.
///
/// An attribute that is `nil` is omitted; `further` adds any other, or repeats one.
package struct ReceiptRecordFields: Sendable {
    package var quantity: Int? = 1
    package var productID: String? = "com.example.pro.monthly"
    package var transactionID: String? = "2000000000000001"
    package var originalTransactionID: String? = "2000000000000001"
    /// Milliseconds since 1970, as all dates here; a receipt has whole seconds.
    package var purchaseDate: Int64? = 1_767_225_600_000
    package var originalPurchaseDate: Int64? = 1_767_225_600_000
    /// 3 is an auto-renewable subscription.
    package var productType: Int? = 3
    package var expiresDate: Int64?
    package var webOrderLineItemID: Int? = 0
    package var cancellationDate: Int64?
    package var isInIntroOfferPeriod: Bool? = false
    package var further: [[UInt8]] = []

    package init() {}

    /// The record of a transaction that a JWS has as well.
    package init(_ transaction: TransactionFields) {
        quantity = transaction.quantity.map { Int($0) }
        productID = transaction.productID
        transactionID = transaction.transactionID
        originalTransactionID = transaction.originalTransactionID
        purchaseDate = transaction.purchaseDate
        originalPurchaseDate = transaction.originalPurchaseDate
        productType = transaction.type == "Auto-Renewable Subscription" ? 3 : nil
        expiresDate = transaction.expiresDate
        webOrderLineItemID = transaction.webOrderLineItemID.flatMap { Int($0) }
        cancellationDate = transaction.revocationDate
    }

    /// The SET of its attributes.
    package var content: [UInt8] {
        typealias Fields = ReceiptFields
        let attributes: [[UInt8]?] = [
            quantity.map { Fields.attribute(1701, integer: $0) }, productID.map { Fields.attribute(1702, text: $0) },
            transactionID.map { Fields.attribute(1703, text: $0) },
            purchaseDate.map { Fields.attribute(1704, date: $0) },
            originalTransactionID.map { Fields.attribute(1705, text: $0) },
            originalPurchaseDate.map { Fields.attribute(1706, date: $0) },
            productType.map { Fields.attribute(1707, integer: $0) },
            expiresDate.map { Fields.attribute(1708, date: $0) } ?? Fields.attribute(1708, date: ""),
            Fields.attribute(1710, integer: 0), webOrderLineItemID.map { Fields.attribute(1711, integer: $0) },
            cancellationDate.map { Fields.attribute(1712, date: $0) } ?? Fields.attribute(1712, date: ""),
            isInIntroOfferPeriod.map { Fields.attribute(1719, integer: $0 ? 1 : 0) },
        ]
        return DER.set(Array((attributes.compactMap { $0 } + further).joined()))
    }
}

/// The form of a receipt around its content; a test may break each part.
///
/// The default has the form of Apple's today: DER, SHA-256, no signed attributes, the three
/// certificates with the leaf first.
package struct ReceiptForm: Sendable {
    package var digest = SignatureDigest.sha256
    /// Whether there are signed attributes, which are then signed instead of the content.
    package var hasSignedAttributes = false
    package var hasUnsignedAttributes = false
    /// Bytes of each piece of the content, in Xcode's form with indefinite lengths.
    ///
    /// `nil` for Apple's form.
    package var pieceBytes: Int?
    /// Number of strings nested in each other in a piece.
    package var pieceDepth = 1
    /// Certificates that replace the authority's.
    package var certificates: [[UInt8]]?
    package var signersCount = 1
    /// Signs instead of the leaf's key.
    package var signerKey: PrivateKey?
    /// Replaces the signed content in the receipt.
    package var shownContent: [UInt8]?
    package var hasContent = true
    /// Replaces the content's digest in the signed attributes.
    package var namedDigest: [UInt8]?
    package var namedContentType = dataType
    /// Number of times that each signed attribute occurs.
    package var signedAttributeCopies = 1
    /// Number of values of each signed attribute, all equal.
    package var signedAttributeValues = 1
    package var digestAlgorithm: String?
    package var signatureAlgorithm = "1.2.840.113549.1.1.1"
    package var contentType = dataType
    package var trailing: [UInt8] = []

    package static let dataType = "1.2.840.113549.1.7.1"

    package init() {}

    var digestOID: String { digestAlgorithm ?? (digest == .sha1 ? "1.3.14.3.2.26" : "2.16.840.1.101.3.4.2.1") }
}
