/// The two encodings of RFC 4648 that Apple uses, read strictly: no whitespace, no line breaks, no other alphabet, and
/// zeros as unused bits, so that no two texts decode to the same bytes.
package struct Base64: Sendable {
    /// The encoding of §4, with padding.
    package static let standard = Base64(alphabetEnd: "+/", isPadded: true)
    /// The encoding of §5, without padding.
    package static let url = Base64(alphabetEnd: "-_", isPadded: false)

    /// The six bits of each character of the alphabet; 0xFF for all other bytes.
    private let values: [UInt8]
    let alphabet: [UInt8]
    let isPadded: Bool

    private init(alphabetEnd: String, isPadded: Bool) {
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        alphabet = Array((letters + alphabetEnd).utf8)
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        self.values = values
        self.isPadded = isPadded
    }

    /// Decodes a text.
    ///
    /// `nil` unless the text is the only valid encoding of some bytes.
    package func decode(_ text: Span<UInt8>) -> [UInt8]? {
        var count = text.count
        if isPadded {
            guard count % 4 == 0 else { return nil }
            let padding = UInt8(ascii: "=")
            if count > 0 && text[count - 1] == padding { count -= text[count - 2] == padding ? 2 : 1 }
        }
        guard count % 4 != 1 else { return nil }
        var isValid = true
        let decoded = [UInt8](unsafeUninitializedCapacity: count / 4 * 3 + 2) { output, written in
            values.withUnsafeBufferPointer { values in
                text.withUnsafeBufferPointer { text in
                    let quads = Self.decodeQuads(text, count / 4, values, output)
                    let rest = Self.decodeRest(text, count / 4 * 4..<count, values, output)
                    written = count / 4 * 3 + rest.count
                    isValid = quads && rest.isValid
                }
            }
        }
        return isValid ? decoded : nil
    }

    private static func decodeQuads(
        _ text: UnsafeBufferPointer<UInt8>, _ quadsCount: Int, _ values: UnsafeBufferPointer<UInt8>,
        _ output: UnsafeMutableBufferPointer<UInt8>
    ) -> Bool {
        var seen: UInt8 = 0
        for quad in 0..<quadsCount {
            let first = values[Int(text[quad * 4])]
            let second = values[Int(text[quad * 4 + 1])]
            let third = values[Int(text[quad * 4 + 2])]
            let fourth = values[Int(text[quad * 4 + 3])]
            seen |= first | second | third | fourth
            output[quad * 3] = first << 2 | second >> 4
            output[quad * 3 + 1] = second << 4 | third >> 2
            output[quad * 3 + 2] = third << 6 | fourth
        }
        return seen < 0x40
    }

    /// Decodes the last two or three characters; the unused bits of the last character must be zero.
    private static func decodeRest(
        _ text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, _ values: UnsafeBufferPointer<UInt8>,
        _ output: UnsafeMutableBufferPointer<UInt8>
    ) -> (count: Int, isValid: Bool) {
        guard !range.isEmpty else { return (0, true) }
        let start = range.lowerBound / 4 * 3
        let first = values[Int(text[range.lowerBound])]
        let second = values[Int(text[range.lowerBound + 1])]
        output[start] = first << 2 | second >> 4
        guard range.count == 3 else { return (1, first | second < 0x40 && second & 0x0F == 0) }
        let third = values[Int(text[range.lowerBound + 2])]
        output[start + 1] = second << 4 | third >> 2
        return (2, first | second | third < 0x40 && third & 0x03 == 0)
    }
}

extension Base64 {
    /// The only text that decodes to these bytes.
    package func encode(_ bytes: [UInt8]) -> [UInt8] {
        let count = isPadded ? (bytes.count + 2) / 3 * 4 : (bytes.count * 4 + 2) / 3
        return [UInt8](unsafeUninitializedCapacity: count + 3) { output, written in
            bytes.withUnsafeBufferPointer { bytes in
                alphabet.withUnsafeBufferPointer { alphabet in
                    for group in 0..<(bytes.count + 2) / 3 { Self.encode(bytes, group, alphabet, output) }
                }
            }
            if isPadded && bytes.count % 3 > 0 {
                for index in count - (3 - bytes.count % 3)..<count { output[index] = UInt8(ascii: "=") }
            }
            written = count
        }
    }

    /// Writes the four characters of three bytes; missing bytes count as zero.
    private static func encode(
        _ bytes: UnsafeBufferPointer<UInt8>, _ group: Int, _ alphabet: UnsafeBufferPointer<UInt8>,
        _ output: UnsafeMutableBufferPointer<UInt8>
    ) {
        let start = group * 3
        let second = start + 1 < bytes.count ? bytes[start + 1] : 0
        let third = start + 2 < bytes.count ? bytes[start + 2] : 0
        let word = Int(bytes[start]) << 16 | Int(second) << 8 | Int(third)
        output[group * 4] = alphabet[word >> 18]
        output[group * 4 + 1] = alphabet[word >> 12 & 63]
        output[group * 4 + 2] = alphabet[word >> 6 & 63]
        output[group * 4 + 3] = alphabet[word & 63]
    }
}
