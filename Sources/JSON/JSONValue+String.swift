extension JSONValue {
    /// A string's content; nil for anything else, and for half a surrogate pair.
    package var string: String? {
        if let range = plainStringRange {
            return String(decoding: storage.bytes[range], as: UTF8.self)
        }
        return stringBytes.map { String(decoding: $0, as: UTF8.self) }
    }

    /// A string's content in UTF-8, escapes replaced; nil as for `string`.
    package var stringBytes: [UInt8]? {
        guard kind == .string, !node.hasLoneSurrogate else { return nil }
        if let range = plainStringRange {
            return Array(storage.bytes[range])
        }
        return storage.decodedContent(at: index)
    }

    /// Where a string without escapes has its content: the document's bytes say it themselves.
    package var plainStringRange: Range<Int>? {
        kind == .string && !node.hasEscapes ? node.content : nil
    }

    /// Whether this is a string of exactly these bytes, by no other equivalence.
    package func isString(_ text: StaticString) -> Bool {
        guard kind == .string, text.hasPointerRepresentation else { return false }
        let expected = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return storage.hasString(at: index, equalTo: expected)
    }

    /// Whether this is a string of exactly these bytes, by no other equivalence.
    @_disfavoredOverload
    package func isString(_ text: String) -> Bool {
        var text = text
        return kind == .string && text.withUTF8 { storage.hasString(at: index, equalTo: $0) }
    }

    /// Whether this is a string of exactly these bytes, by no other equivalence.
    package func isString(_ text: [UInt8]) -> Bool {
        kind == .string
            && text.withUnsafeBufferPointer { storage.hasString(at: index, equalTo: $0) }
    }
}
