/// Conversion of eight hexadecimal digits at a time, each in one byte of a word.
package enum HexDigits {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let lowerHalves: UInt64 = 0x0F0F_0F0F_0F0F_0F0F

    /// Decodes eight hexadecimal digits.
    ///
    /// `nil` if a byte is not a hexadecimal digit of either case.
    package static func value(ofEight digits: Span<UInt8>, from start: Int) -> UInt32? {
        let text = UInt64(bigEndian: unsafe digits.bytes.unsafeLoadUnaligned(fromByteOffset: start, as: UInt64.self))
        // Only letters among the hexadecimal digits have bit 6. A letter's value is its lower half plus nine.
        let letters = (text >> 6) & ones
        let nibbles = (text & lowerHalves) &+ letters &* 9
        guard nibbles & ~lowerHalves == 0, characters(of: nibbles) == text | (letters << 5) else { return nil }
        // The steps join neighbours: digits to bytes, bytes to halves, halves to the whole.
        let bytes = (nibbles | (nibbles >> 4)) & 0x00FF_00FF_00FF_00FF
        let halves = (bytes | (bytes >> 8)) & 0x0000_FFFF_0000_FFFF
        return UInt32(truncatingIfNeeded: halves | (halves >> 16))
    }

    /// The eight digits in lower case, in the order of their characters in memory.
    package static func text(of value: UInt32) -> UInt64 {
        let whole = UInt64(value)
        let halves = (whole | (whole << 16)) & 0x0000_FFFF_0000_FFFF
        let bytes = (halves | (halves << 8)) & 0x00FF_00FF_00FF_00FF
        let nibbles = (bytes | (bytes << 4)) & lowerHalves
        return characters(of: nibbles).bigEndian
    }

    private static func characters(of nibbles: UInt64) -> UInt64 {
        let letters = ((nibbles &+ ones &* 6) >> 4) & ones
        return nibbles &+ ones &* 0x30 &+ letters &* 0x27
    }
}
