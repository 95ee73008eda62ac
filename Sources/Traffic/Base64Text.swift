/// Writes base64 as JWS and `x5c` want it.
package enum Base64Text {
    private static let standardAlphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )
    private static let urlAlphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8
    )

    /// RFC 4648 §4, with padding.
    package static func standard(_ bytes: [UInt8]) -> [UInt8] {
        encode(bytes, alphabet: standardAlphabet, isPadded: true)
    }

    /// RFC 4648 §5, without padding.
    package static func url(_ bytes: [UInt8]) -> [UInt8] {
        encode(bytes, alphabet: urlAlphabet, isPadded: false)
    }

    private static func encode(_ bytes: [UInt8], alphabet: [UInt8], isPadded: Bool) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let count = min(3, bytes.count - start)
            var group = 0
            for offset in 0..<3 {
                group = group << 8 | (offset < count ? Int(bytes[start + offset]) : 0)
            }
            for position in 0...count {
                text.append(alphabet[group >> (18 - 6 * position) & 63])
            }
            if isPadded {
                text.append(contentsOf: repeatElement(UInt8(ascii: "="), count: 3 - count))
            }
        }
        return text
    }
}
