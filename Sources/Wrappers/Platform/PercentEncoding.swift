extension String {
    /// The text as one part of a path or a query: all bytes but the unreserved ones as `%XX`.
    package var percentEncoded: String {
        let digits = Array("0123456789ABCDEF".utf8)
        let encoded = utf8.flatMap { byte in
            byte.isUnreserved ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}

extension UInt8 {
    /// Whether the byte is a letter, a digit or one of `-._~` (RFC 3986 §2.3).
    package var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "-._~".utf8.contains(self)
        }
    }
}
