/// The keys that an object has so far, one bit each.
///
/// A bit that is not set proves that a key is new; there are so many that the thirty keys of a
/// payload seldom share one.
struct KeyFilter {
    private var words = InlineArray<4, UInt64>(repeating: 0)

    /// Whether no key of this hash was there before.
    mutating func insert(_ hash: UInt8) -> Bool {
        let (word, bit) = (Int(hash >> 6), UInt64(1) << UInt64(hash & 63))
        defer { words[word] |= bit }
        return words[word] & bit == 0
    }

    /// By length, first, middle and last byte, in which names differ.
    static func hash(_ bytes: Span<UInt8>, _ content: Range<Int>) -> UInt8 {
        guard !content.isEmpty else { return 0 }
        let first = bytes[content.lowerBound]
        let middle = bytes[content.lowerBound + content.count / 2]
        let last = bytes[content.upperBound - 1]
        let mixed =
            UInt64(content.count) << 24 | UInt64(first) << 16 | UInt64(middle) << 8 | UInt64(last)
        return UInt8(truncatingIfNeeded: (mixed &* 0x9E37_79B9_7F4A_7C15) >> 56)
    }
}
