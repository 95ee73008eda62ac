/// A cursor over an object that `JSONWriter` wrote; it reads member by member in the order of the text, without making
/// a document.
///
/// The cursor accepts only the writer's usual output: no spaces, names without escapes, ASCII strings without escapes,
/// and non-negative whole numbers of up to 18 digits. At anything else it stops and returns false or `nil`, and the
/// caller must parse the text as a `JSONDocument`, which alone implements all of JSON and reports errors. A document
/// reads the same values from accepted text. The cursor also stops at a repeated or unknown member.
package struct JSONCursor: Sendable {
    private let bytes: [UInt8]
    /// The end of the bytes read so far.
    package private(set) var position = 0
    private let end: Int

    /// - Parameter bytes: the text, which may end before the object does.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        end = bytes.count
    }

    package mutating func passOpeningBrace() -> Bool { pass(UInt8(ascii: "{")) }

    package mutating func passClosingBrace() -> Bool { pass(UInt8(ascii: "}")) }

    private mutating func pass(_ byte: UInt8) -> Bool {
        guard position < end, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    /// Moves past a member's name to its value, if it is the next member.
    package mutating func pass(name: StaticString) -> Bool {
        // No value ends with an opening brace, so the first member follows such a brace.
        let isFirst = position > 0 && bytes[position - 1] == UInt8(ascii: "{")
        let opening = isFirst ? position : position + 1
        let closing = opening + name.utf8CodeUnitCount + 1
        guard closing + 1 < end, bytes[closing] == UInt8(ascii: "\""), bytes[closing + 1] == UInt8(ascii: ":"),
            bytes[opening] == UInt8(ascii: "\""), isFirst || bytes[position] == UInt8(ascii: ","),
            has(name, at: opening + 1)
        else { return false }
        position = closing + 2
        return true
    }

    /// Compares eight bytes at a time; the last eight may overlap the previous ones.
    ///
    /// - Precondition: `bytes` contains as many bytes from `start` as `text` has.
    private func has(_ text: StaticString, at start: Int) -> Bool {
        let expected = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return bytes.withUnsafeBytes { bytes in
            func isEqual<Word: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _: Word.Type) -> Bool {
                bytes.loadUnaligned(fromByteOffset: start + offset, as: Word.self)
                    == expected.loadUnaligned(fromByteOffset: offset, as: Word.self)
            }
            guard expected.count >= 8 else { return expected.indices.allSatisfy { isEqual($0, UInt8.self) } }
            var offset = 0
            while offset + 8 < expected.count {
                guard isEqual(offset, UInt64.self) else { return false }
                offset += 8
            }
            return isEqual(expected.count - 8, UInt64.self)
        }
    }
}

extension JSONCursor {
    package mutating func passNull() -> Bool { pass(literal: "null") }

    /// Reads a boolean and moves past it.
    ///
    /// `nil` if the value is not a boolean.
    package mutating func bool() -> Bool? {
        if pass(literal: "true") { return true }
        return pass(literal: "false") ? false : nil
    }

    private mutating func pass(literal: StaticString) -> Bool {
        let count = literal.utf8CodeUnitCount
        guard count <= end - position, has(literal, at: position) else { return false }
        position += count
        return true
    }

    /// Reads a number as `JSONValue.int64` does and moves past it.
    ///
    /// `nil` also without a digit.
    ///
    /// The cursor moves past only the beginning of a number with a fraction or with more digits: no member follows
    /// there, so the cursor stops.
    package mutating func int64() -> Int64? {
        var number: Int64 = 0
        var index = position
        let limit = min(end, position + Self.digitsMax)
        while index < limit {
            let digit = bytes[index] &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            number = number &* 10 &+ Int64(digit)
            index += 1
        }
        // JSON numbers have no leading zeros.
        guard index > position, index == position + 1 || bytes[position] != UInt8(ascii: "0") else { return nil }
        position = index
        return number
    }

    /// Maximum digits, with which a number never exceeds 64 bits.
    private static let digitsMax = 18

    /// Reads a string as `JSONValue.string` does and moves past it.
    ///
    /// `nil` also for a string with escapes or with other bytes than ASCII.
    package mutating func string() -> String? { passString().map { String(decoding: bytes[$0], as: UTF8.self) } }

    /// Calls `body` with a string's content and returns its result.
    ///
    /// `nil` as for `string()`.
    ///
    /// The cursor moves past the string even if `body` returns `nil`.
    package mutating func withString<Result>(_ body: (Span<UInt8>) -> Result?) -> Result? {
        guard let content = passString() else { return nil }
        return body(bytes.span.extracting(content))
    }

    /// Moves past a string and returns the range of its content.
    private mutating func passString() -> Range<Int>? {
        guard position < end, bytes[position] == UInt8(ascii: "\"") else { return nil }
        let start = position + 1
        let close = JSONParser.endOfPlainText(bytes.span, from: start)
        guard close < end, bytes[close] == UInt8(ascii: "\"") else { return nil }
        position = close + 1
        return start..<close
    }
}
