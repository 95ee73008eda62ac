/// A SHA-256, held inline: 32 bytes without an allocation.
///
/// The four words are the digest's bytes in big-endian order, so that comparing words compares
/// bytes.
package struct SHA256Digest: Hashable, Sendable {
    private var first: UInt64
    private var second: UInt64
    private var third: UInt64
    private var fourth: UInt64

    package static let byteCount = 32

    /// Nil unless there are exactly 32 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.init()
        var offset = 0
        for byte in bytes {
            set(byte, at: offset)
            offset += 1
        }
    }

    /// Reads 64 hexadecimal digits in either case; nil for anything else.
    package init?(hex: String) {
        let utf8 = hex.utf8
        self.init(hex: utf8.span)
    }

    /// Reads 64 hexadecimal digits in either case; nil for anything else.
    package init?(hex digits: Span<UInt8>) {
        guard digits.count == Self.byteCount * 2 else { return nil }
        var words = InlineArray<4, UInt64>(repeating: 0)
        for offset in digits.indices {
            guard let value = Self.value(ofHexDigit: digits[offset]) else { return nil }
            words[offset / 16] = words[offset / 16] << 4 | UInt64(value)
        }
        (first, second, third, fourth) = (words[0], words[1], words[2], words[3])
    }

    /// All bits zero; the caller fills in the bytes.
    init() {
        (first, second, third, fourth) = (0, 0, 0, 0)
    }

    /// The digest's 32 bytes, as OpenSSL wrote them.
    init(words: InlineArray<4, UInt64>) {
        first = UInt64(bigEndian: words[0])
        second = UInt64(bigEndian: words[1])
        third = UInt64(bigEndian: words[2])
        fourth = UInt64(bigEndian: words[3])
    }

    /// The digest's 32 bytes as they lie in memory.
    var words: InlineArray<4, UInt64> {
        [first.bigEndian, second.bigEndian, third.bigEndian, fourth.bigEndian]
    }

    package var bytes: [UInt8] {
        (0..<Self.byteCount).map { self[$0] }
    }

    /// Lower-case, 64 digits.
    package var hex: String {
        unsafe String(unsafeUninitializedCapacity: Self.byteCount * 2) { buffer in
            for offset in 0..<Self.byteCount {
                let byte = self[offset]
                unsafe buffer[offset * 2] = Self.hexDigit(byte >> 4)
                unsafe buffer[offset * 2 + 1] = Self.hexDigit(byte & 15)
            }
            return Self.byteCount * 2
        }
    }

    package subscript(offset: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: word(offset / 8) >> UInt64(56 - offset % 8 * 8))
    }

    func precedes(_ other: Self) -> Bool {
        (first, second, third, fourth) < (other.first, other.second, other.third, other.fourth)
    }

    private func word(_ index: Int) -> UInt64 {
        switch index {
        case 0: first
        case 1: second
        case 2: third
        case 3: fourth
        default: preconditionFailure("a SHA-256 has four words")
        }
    }

    private mutating func set(_ byte: UInt8, at offset: Int) {
        let bits = UInt64(byte) << UInt64(56 - offset % 8 * 8)
        switch offset / 8 {
        case 0: first |= bits
        case 1: second |= bits
        case 2: third |= bits
        case 3: fourth |= bits
        default: preconditionFailure("a SHA-256 has 32 bytes")
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    private static func value(ofHexDigit digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension SHA256Digest: Comparable {
    /// The order of the bytes, which is the order of PostgreSQL's `bytea` as well.
    package static func < (left: Self, right: Self) -> Bool {
        left.precedes(right)
    }
}

extension SHA256Digest: CustomStringConvertible {
    package var description: String { hex }
}
