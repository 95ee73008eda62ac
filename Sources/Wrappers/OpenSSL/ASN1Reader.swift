internal import COpenSSL

/// A reader of consecutive ASN.1 elements, whose headers OpenSSL parses.
///
/// Lengths must be definite, and no element may extend beyond its range. Nothing is copied: contents are ranges of the
/// bytes.
package struct ASN1Reader: Sendable {
    package enum Tag: Int32, Sendable {
        case integer = 2
        case octetString = 4
        case utf8String = 12
        case sequence = 16
        case set = 17
        case ia5String = 22
    }

    package struct Element: Sendable {
        /// The element's tag.
        ///
        /// `nil` for universal tags that `Tag` does not name, and for all tags of other classes.
        package let tag: Tag?
        package let content: Range<Int>
    }

    package let bytes: [UInt8]
    private var offset: Int
    private let end: Int

    package init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        offset = range.lowerBound
        end = range.upperBound
    }

    package var isAtEnd: Bool { offset == end }

    /// The next element.
    ///
    /// `nil` at the end and for bytes that are not an element.
    package mutating func next() -> Element? {
        guard offset < end else { return nil }
        var length = 0
        var tag: Int32 = 0
        var tagClass: Int32 = 0
        let (flags, headerBytes) = unsafe bytes.withUnsafeBufferPointer { buffer in
            let start = unsafe buffer.baseAddress.map { unsafe $0 + offset }
            var position = unsafe start
            let flags = unsafe ASN1_get_object(&position, &length, &tag, &tagClass, end - offset)
            guard let start = unsafe start, let position = unsafe position else { return (Int32(0x80), 0) }
            return unsafe (flags, position - start)
        }
        // 0x80: not an element, or an element longer than the range. 1: an indefinite length.
        guard flags & 0x81 == 0 else {
            ERR_clear_error()
            return nil
        }
        let content = offset + headerBytes..<offset + headerBytes + length
        offset = content.upperBound
        let isExpectedForm = (flags & V_ASN1_CONSTRUCTED != 0) == (tag == 16 || tag == 17)
        let isKnown = tagClass == V_ASN1_UNIVERSAL && isExpectedForm
        return Element(tag: isKnown ? Tag(rawValue: tag) : nil, content: content)
    }

    /// The content of the next element.
    ///
    /// `nil` if the element has another tag.
    package mutating func next(_ tag: Tag) -> Range<Int>? {
        guard let element = next(), element.tag == tag else { return nil }
        return element.content
    }

    /// The next element as an integer.
    ///
    /// `nil` if the element is not an integer or has more than 64 bits.
    package mutating func nextInt64() -> Int64? {
        guard let content = next(.integer), (1...8).contains(content.count) else { return nil }
        var value: Int64 = bytes[content.lowerBound] >= 0x80 ? -1 : 0
        for byte in bytes[content] { value = value << 8 | Int64(byte) }
        return value
    }
}
