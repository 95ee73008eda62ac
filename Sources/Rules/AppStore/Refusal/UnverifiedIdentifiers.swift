import JSON

/// The identifiers in a refused record, for search, never for a decision.
///
/// Text without a harmless form (`UnverifiedText`) is omitted: dead letters, the index and every list show these
/// identifiers.
package struct UnverifiedIdentifiers: Hashable, Sendable {
    package var transactionID: String?
    package var originalTransactionID: String?
    package var bundleID: String?
    package var environment: String?
    package var productID: String?
    package var signedDate: Timestamp?

    package init() {}

    package var isEmpty: Bool { self == UnverifiedIdentifiers() }

    /// Adds the identifiers of a payload that are still missing.
    ///
    /// A notification also contributes the identifiers of its subject and of its nested transaction, whose signature
    /// is not checked.
    mutating func add(_ payload: JSONValue) {
        let fields = fields(of: payload)
        guard let data = fields[.data] else { return }
        let inner = self.fields(of: data)[.signedTransactionInfo].flatMap(Token.init)
        guard transactionID == nil, let inner else { return }
        add(payloadOf: inner)
    }

    /// Adds the identifiers of bytes that may be unsigned, with the most lenient JSON reader.
    mutating func add(unsigned payload: [UInt8]) {
        if let document = try? JSONDocument(parsing: payload, policy: .grammar) { add(document.root) }
    }

    /// Reads the second segment of a possible JWS.
    mutating func add(payloadOf token: Token) {
        guard let payload = token.unverifiedPayload(.grammar) else { return }
        fields(of: payload)
    }

    /// Reads a receipt's statements about its app and about its first purchase.
    mutating func add(receipt content: [UInt8]) {
        let attributes = ReceiptAttribute.first(Self.attributesSearchedMax, of: content)
        for attribute in attributes {
            switch attribute.number {
            case 0:
                let name = text(attribute)
                environment = environment ?? name.flatMap { ReceiptType.environment($0)?.rawValue } ?? name
            case 2: bundleID = bundleID ?? text(attribute)
            case 12: signedDate = signedDate ?? date(attribute)
            default: break
            }
        }
        let record = attributes.first { $0.number == ReceiptField.inAppRecord }.map(\.value)
        let fields = ReceiptAttribute.first(Self.attributesSearchedMax, of: Array(record ?? []))
        for attribute in fields {
            switch attribute.number {
            case 1702: productID = productID ?? text(attribute)
            case ReceiptField.transactionID: transactionID = transactionID ?? text(attribute)
            case ReceiptField.originalTransactionID: originalTransactionID = originalTransactionID ?? text(attribute)
            default: break
            }
        }
    }

    /// Maximum attributes that are read from a refused receipt, including in-app records.
    private static let attributesSearchedMax = 512

    private func text(_ attribute: ReceiptAttribute) -> String? {
        // The text follows two to four bytes of tag and length.
        guard attribute.value.count <= Self.textBytesMax + 4, case .text(let text) = ReceiptValue(attribute, .text)
        else { return nil }
        return harmless(text)
    }

    private func date(_ attribute: ReceiptAttribute) -> Timestamp? {
        guard attribute.value.count <= Self.textBytesMax,
            case .integer(let milliseconds) = ReceiptValue(attribute, .date)
        else { return nil }
        return Timestamp(milliseconds: milliseconds)
    }

    mutating func add(_ receipt: LegacyReceipt) {
        transactionID = transactionID ?? harmless(receipt.transactionID)
        originalTransactionID = originalTransactionID ?? harmless(receipt.originalTransactionID)
        bundleID = bundleID ?? harmless(receipt.bundleID)
        productID = productID ?? harmless(receipt.productID)
    }

    private enum Field: String, PayloadField {
        case transactionId, originalTransactionId, bundleId, environment, receiptType, productId
        case signedDate, receiptCreationDate, data, signedTransactionInfo
    }

    private static let table = FieldTable<Field>()

    /// Adds the statements of an object, and returns them.
    @discardableResult private mutating func fields(of object: JSONValue) -> KnownMembers<Field> {
        let found = KnownMembers(of: object, named: Self.table)
        transactionID = transactionID ?? text(found[.transactionId])
        originalTransactionID = originalTransactionID ?? text(found[.originalTransactionId])
        bundleID = bundleID ?? text(found[.bundleId])
        environment = environment ?? text(found[.environment] ?? found[.receiptType])
        productID = productID ?? text(found[.productId])
        let date = found[.signedDate] ?? found[.receiptCreationDate]
        signedDate = signedDate ?? date?.int64RoundedDown.map { Timestamp(milliseconds: $0) }
        return found
    }

    private static let textBytesMax = 255

    private func harmless(_ text: String?) -> String? { text.flatMap { UnverifiedText.isHarmless($0.utf8) ? $0 : nil } }

    private func text(_ value: JSONValue?) -> String? {
        guard let value, value.kind == .string, value.range.count <= Self.textBytesMax + 2 else { return nil }
        return harmless(value.string)
    }
}

extension Token {
    /// The second segment of a possible JWS, whose signature is not checked.
    ///
    /// `nil` if the segment is not JSON in base64url.
    fileprivate func unverifiedPayload(_ policy: JSONPolicy) -> JSONValue? {
        guard let jws = try? CompactJWS(self), let payload = Base64.url.decode(bytes.span.extracting(jws.payload))
        else { return nil }
        return try? JSONDocument(parsing: payload, policy: policy).root
    }
}

extension NotificationPayload {
    /// Reads a compact JWS without checking its signature, for lists and comparisons, never for a decision.
    package init?(unverified token: [UInt8]) {
        let payload = Token(token, token.indices).unverifiedPayload(.strict)
        guard let payload else { return nil }
        self.init(payload)
    }
}
