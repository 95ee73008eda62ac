/// The `\u` escapes of RFC 8259 §7.
enum UnicodeEscape {
    /// The bytes of one escape.
    static let length = 6

    /// The UTF-16 code unit that the escape at a position names; nil where none is whole.
    static func unit(in input: Span<UInt8>, at position: Int) -> UInt16? {
        guard position + length <= input.count, input[position] == UInt8(ascii: "\\"),
            input[position + 1] == UInt8(ascii: "u")
        else { return nil }
        var unit: UInt16 = 0
        for index in position + 2..<position + length {
            guard let digit = hexDigit(input[index]) else { return nil }
            unit = unit << 4 | digit
        }
        return unit
    }

    static func isSurrogate(_ unit: UInt16) -> Bool { unit & 0xF800 == 0xD800 }
    static func isLeading(_ unit: UInt16) -> Bool { unit & 0xFC00 == 0xD800 }
    static func isTrailing(_ unit: UInt16) -> Bool { unit & 0xFC00 == 0xDC00 }

    private static func hexDigit(_ byte: UInt8) -> UInt16? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}
