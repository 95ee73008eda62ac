/// What a string says once its escapes are replaced.
enum StringContent {
    /// Appends the UTF-8 of a string's content, which the parser has already checked.
    ///
    /// A lone surrogate, which only `JSONPolicy.grammar` lets through, becomes U+FFFD.
    static func decode(
        _ input: Span<UInt8>,
        _ content: Range<Int>,
        into output: inout [UInt8]
    ) {
        var index = content.lowerBound
        while index < content.upperBound {
            let byte = input[index]
            guard byte == UInt8(ascii: "\\") else {
                output.append(byte)
                index += 1
                continue
            }
            let escaped = input[index + 1]
            if escaped == UInt8(ascii: "u") {
                index += decodeUnicodeEscape(input, index, into: &output)
            } else {
                output.append(plain(escaped))
                index += 2
            }
        }
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

    /// Returns how many bytes of the input were consumed.
    private static func decodeUnicodeEscape(
        _ input: Span<UInt8>,
        _ index: Int,
        into output: inout [UInt8]
    ) -> Int {
        let unit = UnicodeEscape.unit(in: input, at: index) ?? 0xFFFD
        var consumed = UnicodeEscape.length
        var scalar = UInt32(unit)
        if UnicodeEscape.isLeading(unit),
            let other = UnicodeEscape.unit(in: input, at: index + UnicodeEscape.length),
            UnicodeEscape.isTrailing(other)
        {
            consumed *= 2
            scalar = 0x10000 + (UInt32(unit & 0x3FF) << 10 | UInt32(other & 0x3FF))
        }
        let character = Unicode.Scalar(scalar) ?? "\u{FFFD}"
        output.append(contentsOf: UTF8.encode(character) ?? UTF8.encodedReplacementCharacter)
        return consumed
    }
}
