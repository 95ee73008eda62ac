/// A value of a document: a range of the document's bytes, converted on demand.
package struct JSONValue: Sendable {
    let storage: JSONStorage
    let index: Int

    var node: JSONNode { storage.nodes[index] }

    package var kind: JSONKind { node.kind }

    /// The value's range in the document's bytes, including quotes and brackets.
    package var range: Range<Int> { Int(node.start)..<Int(node.end) }

    /// The value exactly as written.
    package var rawBytes: ArraySlice<UInt8> { storage.bytes[range] }

    package var isNull: Bool { kind == .null }

    package var bool: Bool? { kind == .bool ? storage.bytes[Int(node.start)] == UInt8(ascii: "t") : nil }

    /// The number of an object's members or an array's elements; 0 for anything else.
    package var count: Int { Int(node.count) }

    /// The members of an object in the order of the text; empty for anything else.
    package var members: JSONMembers { JSONMembers(container: self) }

    /// The elements of an array; empty for anything else.
    package var elements: JSONElements { JSONElements(container: self) }

    /// The value of a member.
    ///
    /// `nil` if the member is absent or this value is not an object.
    ///
    /// Keys are compared as bytes, after their escapes are replaced. The first of duplicate keys counts, which only
    /// `JSONPolicy.grammar` accepts.
    package subscript(_ key: StaticString) -> JSONValue? {
        guard key.hasPointerRepresentation else { return self[String(describing: key)] }
        return member(UnsafeBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount))
    }

    @_disfavoredOverload package subscript(_ key: String) -> JSONValue? {
        var key = key
        return key.withUTF8 { member($0) }
    }

    private func member(_ key: UnsafeBufferPointer<UInt8>) -> JSONValue? {
        guard kind == .object else { return nil }
        let end = Int(node.next)
        var child = index + 1
        while child < end {
            if storage.hasString(at: child, equalTo: key) { return JSONValue(storage: storage, index: child + 1) }
            child = Int(storage.nodes[child + 1].next)
        }
        return nil
    }
}

extension JSONValue {
    /// The bytes of the whole document, which `range` and `plainStringRange` refer to.
    package var documentBytes: [UInt8] { storage.bytes }
}

extension JSONValue {
    /// The number if it is an integer within 64 bits, in any notation: `1.0` and `1e3` are integers.
    package var int64: Int64? { shortInteger ?? decimal?.int64(roundsDown: false) }

    /// The greatest integer not above the number, if it is within 64 bits.
    package var int64RoundedDown: Int64? { decimal?.int64(roundsDown: true) }

    /// The nearest double.
    ///
    /// `nil` if the number is too large for a double.
    package var double: Double? {
        guard kind == .number else { return nil }
        let value = Double(String(decoding: rawBytes, as: UTF8.self))
        return value.flatMap { $0.isFinite ? $0 : nil }
    }

    /// The number if it consists of up to 18 digits, as nearly all numbers do.
    private var shortInteger: Int64? {
        let range = range
        guard kind == .number, range.count <= 18 else { return nil }
        let bytes = storage.bytes
        var number: Int64 = 0
        for index in range {
            let digit = bytes[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            number = number &* 10 &+ Int64(digit)
        }
        return number
    }

    private var decimal: Decimal? {
        guard kind == .number else { return nil }
        let bytes = storage.bytes
        return Decimal(bytes.span, range)
    }
}

extension JSONValue {
    /// A string's content.
    ///
    /// `nil` for anything else, and for a lone surrogate.
    package var string: String? {
        if let range = plainStringRange { return String(decoding: storage.bytes[range], as: UTF8.self) }
        return stringBytes.map { String(decoding: $0, as: UTF8.self) }
    }

    /// A string's content in UTF-8, with escapes replaced.
    ///
    /// `nil` as for `string`.
    package var stringBytes: [UInt8]? {
        guard kind == .string, !node.hasLoneSurrogate else { return nil }
        if let range = plainStringRange { return Array(storage.bytes[range]) }
        return storage.decodedContent(at: index)
    }

    /// The range of a string's content in the document's bytes.
    ///
    /// `nil` if the string has escapes.
    package var plainStringRange: Range<Int>? { kind == .string && !node.hasEscapes ? node.content : nil }

    /// Whether this is a string of exactly these bytes, without any Unicode equivalence.
    package func isString(_ text: StaticString) -> Bool {
        guard kind == .string, text.hasPointerRepresentation else { return false }
        let expected = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return storage.hasString(at: index, equalTo: expected)
    }

    /// Whether this is a string of exactly these bytes, without any Unicode equivalence.
    @_disfavoredOverload package func isString(_ text: String) -> Bool {
        var text = text
        return kind == .string && text.withUTF8 { storage.hasString(at: index, equalTo: $0) }
    }

    /// Whether this is a string of exactly these bytes, without any Unicode equivalence.
    package func isString(_ text: [UInt8]) -> Bool {
        kind == .string && text.withUnsafeBufferPointer { storage.hasString(at: index, equalTo: $0) }
    }
}
