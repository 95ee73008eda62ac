/// Passes over an object that `JSONWriter` wrote, member by member in the order of the text, and
/// makes no document of it.
///
/// It passes only what that writer mostly writes: no spaces, names without escapes, strings of
/// ASCII without escapes, whole numbers of up to 18 digits that are not negative. At anything else
/// it stands still and says so, and the text has to be read as a `JSONDocument`, which alone knows
/// what JSON is and what is wrong with it. What it passes, a document reads as the same values; a
/// member that stands twice, or is unknown, is one at which it stands still.
package struct JSONCursor: Sendable {
    private let bytes: [UInt8]
    /// The end of the bytes read so far.
    package private(set) var position = 0
    private let end: Int

    /// - Parameter bytes: of which the object need not be all.
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

    /// Passes a member's name up to its value, if it is the next member's.
    package mutating func pass(name: StaticString) -> Bool {
        // No value ends with an opening brace, so that after one comes the first member.
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

    /// Eight bytes at a time, the last eight of them perhaps once more.
    ///
    /// - Precondition: so many bytes are there.
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

    /// Passes a boolean and returns it.
    ///
    /// `nil` if the value is no boolean.
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

    /// Passes a number and returns it as `JSONValue.int64` does; nil also if there is no digit.
    ///
    /// The cursor passes only the beginning of a number with a fraction or with more digits: no
    /// member is found there, so that nothing more is passed.
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
        // JSON has no leading zeros.
        guard index > position, index == position + 1 || bytes[position] != UInt8(ascii: "0") else { return nil }
        position = index
        return number
    }

    /// Maximum digits; so many never exceed 64 bits.
    private static let digitsMax = 18

    /// Passes a string and returns it as `JSONValue.string` does.
    ///
    /// `nil` also for a string with escapes, or of more than ASCII.
    package mutating func string() -> String? { passString().map { String(decoding: bytes[$0], as: UTF8.self) } }

    /// Passes a string's content to `body` and returns its result; nil as for `string()`.
    ///
    /// The cursor moves past the string also if `body` returns nil.
    package mutating func withString<Result>(_ body: (Span<UInt8>) -> Result?) -> Result? {
        guard let content = passString() else { return nil }
        return body(bytes.span.extracting(content))
    }

    /// Passes a string and returns where its content stands.
    private mutating func passString() -> Range<Int>? {
        guard position < end, bytes[position] == UInt8(ascii: "\"") else { return nil }
        let start = position + 1
        let close = JSONParser.endOfPlainText(bytes.span, from: start)
        guard close < end, bytes[close] == UInt8(ascii: "\"") else { return nil }
        position = close + 1
        return start..<close
    }
}
