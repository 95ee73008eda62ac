/// A received receipt: base64 (RFC 4648 §4), with or without line breaks, or the property list of iOS 6.
struct ReceiptText {
    private let text: ArraySlice<UInt8>
    private let isBase64: Bool

    init(_ text: ArraySlice<UInt8>) {
        self.text = text
        isBase64 = true
    }

    init(propertyList: [UInt8]) {
        text = propertyList[...]
        isBase64 = false
    }

    /// Whether this is a transaction receipt in the style of iOS 6.
    var isLegacy: Bool {
        guard let decoded = try? decoded() else { return false }
        return LegacyReceipt(decoded) != nil
    }

    /// - Throws: `receipt_malformed` for any text that is not padded base64.
    func decoded() throws(Fault) -> [UInt8] {
        guard isBase64 else { return Array(text) }
        let characters = text.filter { $0 != 0x0A && $0 != 0x0D }
        guard !characters.isEmpty, let decoded = Base64.standard.decode(characters.span) else {
            throw Fault(.receiptMalformed, "the receipt is not base64 with padding")
        }
        return decoded
    }
}

/// A transaction receipt in the style of iOS 6: a property list in text, with `purchase-info` and
/// `signature` in base64.
///
/// Such a receipt is recognised only so that its dead letter can advise the operator; it is never verified.
struct LegacyReceipt {
    /// The receipt's unverified fields.
    let transactionID: String?
    let originalTransactionID: String?
    let bundleID: String?
    let productID: String?

    static let advice =
        "a transaction receipt in the style of iOS 6: ask Apple's Get Transaction Info for its"
        + " transaction ID and publish the answer"

    /// Maximum bytes; a genuine receipt of this style has about five thousand.
    private static let bytesMax = 64 << 10

    /// Recognises a transaction receipt in the style of iOS 6.
    ///
    /// `nil` for anything else.
    init?(_ decoded: [UInt8]) {
        guard decoded.count <= Self.bytesMax, decoded.first(where: { $0 > 0x20 }) == UInt8(ascii: "{"),
            let encoded = Self.value(of: "purchase-info", in: decoded)
        else { return nil }
        let purchase = Base64.standard.decode(encoded.span) ?? []
        transactionID = Self.text(of: "transaction-id", in: purchase)
        originalTransactionID = Self.text(of: "original-transaction-id", in: purchase)
        bundleID = Self.text(of: "bid", in: purchase)
        productID = Self.text(of: "product-id", in: purchase)
    }

    private static func text(of key: String, in list: [UInt8]) -> String? {
        value(of: key, in: list).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The string value of a key, from `"key" = "value";`.
    ///
    /// The search compares bytes: the text is unverified, and Unicode's rules for characters could make a search
    /// expensive.
    private static func value(of key: String, in list: [UInt8]) -> [UInt8]? {
        let quote = UInt8(ascii: "\"")
        let name = [quote] + Array(key.utf8) + [quote]
        var start = 0
        while let found = ByteSearch.first(quote, in: list.span, start..<list.count) {
            guard ByteSearch.hasPrefix(name.span, list.span, at: found) else {
                start = found + 1
                continue
            }
            let sign = list[(found + name.count)...].drop { $0 <= 0x20 }
            guard sign.first == UInt8(ascii: "=") else { return nil }
            let value = sign.dropFirst().drop { $0 <= 0x20 }
            guard value.first == quote else { return nil }
            return Array(value.dropFirst().prefix { $0 != quote })
        }
        return nil
    }
}
