/// The content of strings, with their escapes replaced.
enum StringContent {
    /// Maximum bytes of one escape.
    static let escapeBytesMax = 6

    /// Appends the UTF-8 of a string's content, which the parser has already checked.
    ///
    /// A lone surrogate, which only `JSONPolicy.grammar` accepts, becomes U+FFFD.
    static func decode(_ input: Span<UInt8>, _ content: Range<Int>, into output: inout [UInt8]) {
        var index = content.lowerBound
        while index < content.upperBound {
            let start = index
            while index < content.upperBound, input[index] != UInt8(ascii: "\\") { index += 1 }
            if index > start {
                input.extracting(start..<index).withUnsafeBufferPointer { output.append(contentsOf: $0) }
            }
            guard index < content.upperBound else { return }
            if let unit = UnicodeEscape.unit(in: input, at: index), unit < 0x80 {
                output.append(UInt8(unit))
                index += UnicodeEscape.length
                continue
            }
            let escape = escape(input, index)
            for byte in escape.utf8 { output.append(byte) }
            index += escape.consumed
        }
    }

    /// Whether the content is exactly these bytes; stops at the first difference.
    static func equals(_ input: Span<UInt8>, _ content: Range<Int>, _ expected: UnsafeBufferPointer<UInt8>) -> Bool {
        var index = content.lowerBound
        var matched = 0
        while index < content.upperBound {
            let byte = input[index]
            guard byte == UInt8(ascii: "\\") else {
                guard matched < expected.count, expected[matched] == byte else { return false }
                matched += 1
                index += 1
                continue
            }
            let escape = escape(input, index)
            for byte in escape.utf8 {
                guard matched < expected.count, expected[matched] == byte else { return false }
                matched += 1
            }
            index += escape.consumed
        }
        return matched == expected.count
    }

    /// The scalar of the escape at a position, and the escape's length in bytes.
    private static func escape(_ input: Span<UInt8>, _ index: Int) -> (utf8: Unicode.UTF8.EncodedScalar, consumed: Int)
    {
        let escaped = input[index + 1]
        guard escaped != UInt8(ascii: "u") else { return unicodeEscape(input, index) }
        return (encoded(Unicode.Scalar(plain(escaped))), 2)
    }

    private static func encoded(_ scalar: Unicode.Scalar) -> Unicode.UTF8.EncodedScalar {
        UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
    }

    private static func plain(_ escaped: UInt8) -> UInt8 {
        switch escaped {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: escaped
        }
    }

    private static func unicodeEscape(_ input: Span<UInt8>, _ index: Int) -> (
        utf8: Unicode.UTF8.EncodedScalar, consumed: Int
    ) {
        let unit = UnicodeEscape.unit(in: input, at: index) ?? 0xFFFD
        var consumed = UnicodeEscape.length
        var scalar = UInt32(unit)
        if UnicodeEscape.isLeading(unit), let other = UnicodeEscape.unit(in: input, at: index + UnicodeEscape.length),
            UnicodeEscape.isTrailing(other)
        {
            consumed *= 2
            scalar = 0x10000 + (UInt32(unit & 0x3FF) << 10 | UInt32(other & 0x3FF))
        }
        return (encoded(Unicode.Scalar(scalar) ?? "\u{FFFD}"), consumed)
    }
}

/// The `\u` escapes of RFC 8259 §7.
enum UnicodeEscape {
    /// The length of one escape in bytes.
    static let length = 6

    /// The UTF-16 code unit of the escape at a position.
    ///
    /// `nil` if the escape is incomplete.
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
