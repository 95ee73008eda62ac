/// A transaction receipt in the style of iOS 6: a property list in text, with `purchase-info` and
/// `signature` in base64.
///
/// Known, so that its dead letter says what to do, and never verified.
struct LegacyReceipt {
    /// What it says of itself, nobody having verified it.
    let transactionID: String?
    let originalTransactionID: String?
    let bundleID: String?
    let productID: String?

    /// What an operator does about one.
    static let advice =
        "a transaction receipt in the style of iOS 6: ask Apple's Get Transaction Info for its"
        + " transaction ID and publish the answer"

    /// One has about five thousand bytes.
    private static let bytesMax = 64 << 10

    /// Nil for anything that is no such text.
    init?(_ decoded: [UInt8]) {
        guard decoded.count <= Self.bytesMax,
            decoded.first(where: { $0 > 0x20 }) == UInt8(ascii: "{"),
            let text = String(validating: decoded, as: UTF8.self),
            let encoded = Self.value(of: "purchase-info", in: text)
        else { return nil }
        let info = Base64.standard.decode(Array(encoded.utf8).span) ?? []
        let purchase = String(validating: info, as: UTF8.self) ?? ""
        transactionID = Self.value(of: "transaction-id", in: purchase)
        originalTransactionID = Self.value(of: "original-transaction-id", in: purchase)
        bundleID = Self.value(of: "bid", in: purchase)
        productID = Self.value(of: "product-id", in: purchase)
    }

    /// The string in `"key" = "value";`.
    private static func value(of key: String, in text: String) -> String? {
        guard let name = text.firstRange(of: "\"\(key)\"") else { return nil }
        let rest = text[name.upperBound...].drop { $0.isWhitespace }
        guard rest.first == "=" else { return nil }
        let value = rest.dropFirst().drop { $0.isWhitespace }
        guard value.first == "\"" else { return nil }
        return String(value.dropFirst().prefix { $0 != "\"" })
    }
}
