/// A SHA-256 digest, stored inline: 32 bytes without an allocation.
///
/// The four words are the digest's bytes in big-endian order, so that comparing words compares
/// bytes.
package struct SHA256Digest: Hashable, Sendable {
    private var first: UInt64
    private var second: UInt64
    private var third: UInt64
    private var fourth: UInt64

    package static let byteCount = 32

    package init?(_ bytes: [UInt8]) { self.init(bytes.span) }

    /// Reads a digest.
    ///
    /// `nil` unless the span has exactly 32 bytes.
    package init?(_ bytes: Span<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        var words = InlineArray<4, UInt64>(repeating: 0)
        for index in words.indices {
            words[index] = unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: index * 8, as: UInt64.self)
        }
        self.init(words: words)
    }

    package init?(hex: String) {
        let utf8 = hex.utf8
        self.init(hex: utf8.span)
    }

    /// Reads 64 hexadecimal digits in either case.
    ///
    /// `nil` for anything else.
    package init?(hex digits: Span<UInt8>) {
        guard digits.count == Self.byteCount * 2 else { return nil }
        var words = InlineArray<4, UInt64>(repeating: 0)
        for index in words.indices {
            guard let high = HexDigits.value(ofEight: digits, from: index * 16),
                let low = HexDigits.value(ofEight: digits, from: index * 16 + 8)
            else { return nil }
            words[index] = UInt64(high) << 32 | UInt64(low)
        }
        (first, second, third, fourth) = (words[0], words[1], words[2], words[3])
    }

    /// The digest's 32 bytes, as OpenSSL wrote them.
    init(words: InlineArray<4, UInt64>) {
        first = UInt64(bigEndian: words[0])
        second = UInt64(bigEndian: words[1])
        third = UInt64(bigEndian: words[2])
        fourth = UInt64(bigEndian: words[3])
    }

    /// The digest's 32 bytes in the order of memory.
    package var words: InlineArray<4, UInt64> {
        [first.bigEndian, second.bigEndian, third.bigEndian, fourth.bigEndian]
    }

    package var bytes: [UInt8] { (0..<Self.byteCount).map { self[$0] } }

    /// The digest as 64 lower-case hexadecimal digits.
    package var hex: String {
        let digits = hexDigits
        return unsafe digits.span.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// The ASCII characters of `hex`.
    package var hexDigits: InlineArray<64, UInt8> {
        var digits = InlineArray<64, UInt8>(repeating: 0)
        for index in 0..<4 {
            let word = word(index)
            let high = HexDigits.text(of: UInt32(truncatingIfNeeded: word >> 32))
            let low = HexDigits.text(of: UInt32(truncatingIfNeeded: word))
            for digit in 0..<8 {
                let shift = UInt64(digit * 8)
                digits[index * 16 + digit] = UInt8(truncatingIfNeeded: high >> shift)
                digits[index * 16 + 8 + digit] = UInt8(truncatingIfNeeded: low >> shift)
            }
        }
        return digits
    }

    package subscript(offset: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: word(offset / 8) >> UInt64(56 - offset % 8 * 8))
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
}

extension SHA256Digest: Comparable {
    /// Compares the bytes in order, as PostgreSQL compares `bytea`.
    package static func < (left: Self, right: Self) -> Bool {
        (left.first, left.second, left.third, left.fourth) < (right.first, right.second, right.third, right.fourth)
    }
}

extension SHA256Digest: CustomStringConvertible { package var description: String { hex } }
