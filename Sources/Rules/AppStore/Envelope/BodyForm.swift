/// The form of a body, recognised by its first bytes and its alphabet.
enum BodyForm {
    case json([UInt8])
    case jws(Token)
    case receipt(ReceiptText)

    init(_ body: [UInt8]?, _ limits: VerifierLimits) throws(Fault) {
        guard let body else { throw Fault(.bodyUnrecognized, "null") }
        guard body.count <= limits.bodyBytesMax else {
            throw Fault(.payloadTooLarge, "the body has \(body.count) bytes of at most \(limits.bodyBytesMax)")
        }
        guard let range = Self.withoutWhitespace(body) else {
            throw Fault(.bodyUnrecognized, body.isEmpty ? "empty" : "only whitespace")
        }
        let text = body[range]
        if Self.isJSON(text) {
            self = .json(range.count == body.count ? body : Array(text))
        } else if Self.isReceipt(text, of: body) {
            self = .receipt(ReceiptText(text))
        } else if text.starts(with: "eyJ".utf8) || Self.isSegmented(text) {
            self = .jws(Token(body, range))
        } else {
            throw Fault(.bodyUnrecognized, "neither JSON nor a JWS nor a receipt")
        }
    }

    static func withoutWhitespace(_ body: [UInt8]) -> Range<Int>? {
        var range = 0..<body.count
        while let first = range.first, isWhitespace(body[first]) { range.removeFirst() }
        while let last = range.last, isWhitespace(body[last]) { range.removeLast() }
        return range.isEmpty ? nil : range
    }

    private static func isWhitespace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static let byteOrderMarks: [[UInt8]] = [
        [0xEF, 0xBB, 0xBF], [0xFE, 0xFF], [0xFF, 0xFE], [0x00, 0x00, 0xFE, 0xFF],
    ]

    private static func isJSON(_ text: ArraySlice<UInt8>) -> Bool {
        text.first == UInt8(ascii: "{") || text.first == UInt8(ascii: "[")
            || byteOrderMarks.contains { text.starts(with: $0) }
    }

    private static func isSegmented(_ text: ArraySlice<UInt8>) -> Bool {
        let dot = UInt8(ascii: ".")
        return text.contains(dot)
            && text.allSatisfy { isAlphanumeric($0) || $0 == dot || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    }

    /// Whether this is the base64 of a PKCS #7 message, or a receipt in the style of iOS 6, which may begin like a
    /// JWS.
    private static func isReceipt(_ text: ArraySlice<UInt8>, of body: [UInt8]) -> Bool {
        // The usual body is a JWS, which is recognised by its dots.
        let range = text.startIndex..<text.endIndex
        guard ByteSearch.first(UInt8(ascii: "."), in: body.span, range) == nil else { return false }
        return text.allSatisfy(isReceiptCharacter) && (text.starts(with: "MI".utf8) || ReceiptText(text).isLegacy)
    }

    private static func isReceiptCharacter(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "=")
            || byte == 0x0A || byte == 0x0D
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }
}
