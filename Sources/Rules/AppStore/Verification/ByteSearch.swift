/// Search and comparison of eight bytes at a time, because a token has thousands of bytes.
enum ByteSearch {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let tops: UInt64 = 0x8080_8080_8080_8080

    /// The first index of the byte in the range.
    static func first(_ byte: UInt8, in text: Span<UInt8>, _ range: Range<Int>) -> Int? {
        let raw = text.bytes
        let pattern = ones &* UInt64(byte)
        var index = range.lowerBound
        while index + 8 <= range.upperBound {
            let word = raw.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
            let difference = UInt64(littleEndian: word) ^ pattern
            let found = (difference &- ones) & ~difference & tops
            guard found == 0 else { return index + found.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < range.upperBound {
            guard text[index] != byte else { return index }
            index += 1
        }
        return nil
    }

    /// Whether a text contains `prefix` at an index.
    ///
    /// The comparison does not stop at the first difference: unknown headers are rare.
    static func hasPrefix(_ prefix: Span<UInt8>, _ text: Span<UInt8>, at start: Int) -> Bool {
        guard prefix.count <= text.count - start else { return false }
        return prefix.withUnsafeBytes { prefix in
            text.withUnsafeBytes { text in isEqual(prefix, UnsafeRawBufferPointer(rebasing: text[start...])) }
        }
    }

    /// - Parameter text: bytes, at least as many as in `prefix`.
    private static func isEqual(_ prefix: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer) -> Bool {
        var difference = SIMD4<UInt64>.zero
        var index = 0
        while index + 32 <= prefix.count {
            difference |=
                prefix.loadUnaligned(fromByteOffset: index, as: SIMD4<UInt64>.self)
                ^ text.loadUnaligned(fromByteOffset: index, as: SIMD4<UInt64>.self)
            index += 32
        }
        guard difference == .zero else { return false }
        while index + 8 <= prefix.count {
            let expected = prefix.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            guard text.loadUnaligned(fromByteOffset: index, as: UInt64.self) == expected else { return false }
            index += 8
        }
        while index < prefix.count {
            guard prefix[index] == text[index] else { return false }
            index += 1
        }
        return true
    }
}
