extension Base64 {
    /// The one text that decodes to these bytes.
    package func encode(_ bytes: [UInt8]) -> [UInt8] {
        let count = isPadded ? (bytes.count + 2) / 3 * 4 : (bytes.count * 4 + 2) / 3
        return [UInt8](unsafeUninitializedCapacity: count + 3) { output, written in
            bytes.withUnsafeBufferPointer { bytes in
                alphabet.withUnsafeBufferPointer { alphabet in
                    for group in 0..<(bytes.count + 2) / 3 {
                        Self.encode(bytes, group, alphabet, output)
                    }
                }
            }
            if isPadded && bytes.count % 3 > 0 {
                for index in count - (3 - bytes.count % 3)..<count {
                    output[index] = UInt8(ascii: "=")
                }
            }
            written = count
        }
    }

    /// Writes the four characters of three bytes; where bytes are missing they count as zero.
    private static func encode(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ group: Int,
        _ alphabet: UnsafeBufferPointer<UInt8>,
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
