/// One value of a document: a span of its bytes, converted when asked for.
package struct JSONValue: Sendable {
    let storage: JSONStorage
    let index: Int

    var node: JSONNode { storage.nodes[index] }

    package var kind: JSONKind { node.kind }

    /// Where the value stands in the document's bytes, quotes and brackets included.
    package var range: Range<Int> { Int(node.start)..<Int(node.end) }

    /// The value exactly as it was written.
    package var rawBytes: ArraySlice<UInt8> { storage.bytes[range] }

    package var isNull: Bool { kind == .null }

    package var bool: Bool? {
        kind == .bool ? storage.bytes[Int(node.start)] == UInt8(ascii: "t") : nil
    }

    /// The number of an object's members or an array's elements; 0 for anything else.
    package var count: Int { Int(node.count) }

    /// The members of an object in the order of the text; none for anything else.
    package var members: JSONMembers { JSONMembers(container: self) }

    /// The elements of an array; none for anything else.
    package var elements: JSONElements { JSONElements(container: self) }

    /// The value of a member; nil where there is none, or where this is no object.
    ///
    /// Keys are compared as bytes, after their escapes are replaced. Of doubled keys, which only
    /// `JSONPolicy.grammar` lets through, the first counts.
    package subscript(_ key: StaticString) -> JSONValue? {
        guard key.hasPointerRepresentation else { return self[String(describing: key)] }
        return member(
            UnsafeBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount)
        )
    }

    @_disfavoredOverload
    package subscript(_ key: String) -> JSONValue? {
        var key = key
        return key.withUTF8 { member($0) }
    }

    private func member(_ key: UnsafeBufferPointer<UInt8>) -> JSONValue? {
        guard kind == .object else { return nil }
        let end = Int(node.next)
        var child = index + 1
        while child < end {
            if storage.hasString(at: child, equalTo: key) {
                return JSONValue(storage: storage, index: child + 1)
            }
            child = Int(storage.nodes[child + 1].next)
        }
        return nil
    }
}
