import OpenSSL

/// An `appAccountToken`: a UUID that the app chose; its comparison ignores case.
///
/// The nil UUID (RFC 9562 §5.9) is not a token: some clients send it if they have no token, and as an identity it
/// would merge all their customers into one user.
package struct AccountToken: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    package init?(_ text: String) {
        let utf8 = text.utf8
        self.init(utf8.span)
    }

    /// Reads a UUID of the form 8-4-4-4-12.
    ///
    /// `nil` for any other text, and for the nil UUID.
    package init?(_ text: Span<UInt8>) {
        guard text.count == Self.length, !Self.isPlaceholder(text) else { return nil }
        var digits = InlineArray<32, UInt8>(repeating: 0)
        var count = 0
        for index in 0..<Self.length {
            let byte = text[index]
            if Self.isHyphen(index) {
                guard byte == UInt8(ascii: "-") else { return nil }
            } else {
                digits[count] = byte
                count += 1
            }
        }
        var words = InlineArray<4, UInt64>(repeating: 0)
        for index in 0..<4 {
            guard let word = HexDigits.value(ofEight: digits.span, from: index * 8) else { return nil }
            words[index] = UInt64(word)
        }
        high = words[0] << 32 | words[1]
        low = words[2] << 32 | words[3]
    }

    package static func isPlaceholder(_ text: String) -> Bool {
        let utf8 = text.utf8
        return isPlaceholder(utf8.span)
    }

    /// Whether the text is the nil UUID, which means no token.
    static func isPlaceholder(_ text: Span<UInt8>) -> Bool {
        text.count == length
            && text.indices.allSatisfy { index in
                text[index] == (isHyphen(index) ? UInt8(ascii: "-") : UInt8(ascii: "0"))
            }
    }

    /// The UUID in lower case.
    package var canonical: String {
        let text = text
        return unsafe text.span.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// The ASCII characters of `canonical`.
    package var text: InlineArray<36, UInt8> {
        var text = InlineArray<36, UInt8>(repeating: UInt8(ascii: "-"))
        var index = 0
        let words: InlineArray<4, UInt64> = [high >> 32, high, low >> 32, low]
        for word in words.indices {
            let digits = HexDigits.text(of: UInt32(truncatingIfNeeded: words[word]))
            for digit in 0..<8 {
                if Self.isHyphen(index) { index += 1 }
                text[index] = UInt8(truncatingIfNeeded: digits >> UInt64(digit * 8))
                index += 1
            }
        }
        return text
    }

    private static let length = 36

    private static func isHyphen(_ index: Int) -> Bool { index == 8 || index == 13 || index == 18 || index == 23 }
}

extension AccountToken: Comparable {
    /// Compares the canonical texts.
    package static func < (left: AccountToken, right: AccountToken) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}
