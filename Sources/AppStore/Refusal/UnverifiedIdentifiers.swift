import JSON

/// What a refused body says of itself; for search, never for a decision.
package struct UnverifiedIdentifiers: Hashable, Sendable {
    package private(set) var transactionID: String?
    package private(set) var originalTransactionID: String?
    package private(set) var bundleID: String?
    package private(set) var environment: String?
    package private(set) var productID: String?
    package private(set) var signedDate: Timestamp?

    package init() {}

    /// Takes over what is not known yet from a payload; of a notification also from its subject and
    /// from the transaction inside, which nobody has looked at.
    mutating func add(_ payload: JSONValue) {
        addFields(of: payload)
        guard let data = payload["data"] else { return }
        addFields(of: data)
        guard transactionID == nil, let inner = data["signedTransactionInfo"].flatMap(Token.init)
        else { return }
        add(payloadOf: inner)
    }

    /// Reads the second segment of what may be a JWS, as leniently as JSON allows.
    mutating func add(payloadOf token: Token) {
        guard let jws = try? CompactJWS(token),
            let bytes = Base64.url.decode(token.bytes.span.extracting(jws.payload)),
            let document = try? JSONDocument(parsing: bytes, policy: .grammar)
        else { return }
        addFields(of: document.root)
    }

    /// Reads what a receipt may say of its app and of the first purchase in it.
    mutating func add(receipt content: [UInt8]) {
        guard let receipt = try? ReceiptContents(beginningOf: content) else { return }
        if let record = receipt.records.first.flatMap({ try? ReceiptRecord($0, of: receipt) }) {
            addFields(of: record.json)
        }
        addFields(of: receipt.json)
    }

    mutating func add(_ receipt: LegacyReceipt) {
        transactionID = transactionID ?? bounded(receipt.transactionID)
        originalTransactionID = originalTransactionID ?? bounded(receipt.originalTransactionID)
        bundleID = bundleID ?? bounded(receipt.bundleID)
        productID = productID ?? bounded(receipt.productID)
    }

    private mutating func addFields(of object: JSONValue) {
        transactionID = transactionID ?? text(object["transactionId"])
        originalTransactionID = originalTransactionID ?? text(object["originalTransactionId"])
        bundleID = bundleID ?? text(object["bundleId"])
        environment = environment ?? text(object["environment"] ?? object["receiptType"])
        productID = productID ?? text(object["productId"])
        let date = object["signedDate"] ?? object["receiptCreationDate"]
        signedDate = signedDate ?? date?.int64RoundedDown.map { Timestamp(milliseconds: $0) }
    }

    private static let textBytesMax = 255

    private func bounded(_ text: String?) -> String? {
        text.flatMap { $0.utf8.count <= Self.textBytesMax ? $0 : nil }
    }

    private func text(_ value: JSONValue?) -> String? {
        guard let value, value.kind == .string, value.range.count <= Self.textBytesMax + 2 else {
            return nil
        }
        return value.string
    }
}
