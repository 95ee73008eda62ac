/// A reader of an object's members by name, fastest if they are requested in the order of the text.
///
/// Each search begins after the member that was found last, so a caller that requests the members in the order of the
/// text compares each name once. The result never depends on that order.
package struct JSONObjectReader: Sendable {
    /// The index of a member's value, valid for the reader that returned it.
    ///
    /// Unlike a `JSONValue` it holds no reference, so that a value that is only converted costs no reference counting.
    package struct Index: Sendable { fileprivate let node: Int }

    private let storage: JSONStorage
    private let first: Int
    private let end: Int
    private var next: Int

    /// Makes a reader of an object.
    ///
    /// `nil` if the value is not an object.
    package init?(_ value: JSONValue) {
        guard value.kind == .object else { return nil }
        storage = value.storage
        first = value.index + 1
        end = Int(value.node.next)
        next = first
    }

    /// The index of a member's value.
    ///
    /// `nil` if the object lacks the member.
    package mutating func index(of name: StaticString) -> Index? {
        let expected = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        guard let key = key(expected, next, end) ?? key(expected, first, next) else { return nil }
        next = Int(storage.nodes[key + 1].next)
        return Index(node: key + 1)
    }

    private func key(_ name: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int) -> Int? {
        var key = start
        while key < end {
            if storage.hasString(at: key, equalTo: name) { return key }
            key = Int(storage.nodes[key + 1].next)
        }
        return nil
    }
}

extension JSONObjectReader {
    package func kind(at index: Index) -> JSONKind { storage.nodes[index.node].kind }

    package func isNull(at index: Index) -> Bool { kind(at: index) == .null }

    /// The value as a `JSONValue`, which may outlive the reader.
    package func value(at index: Index) -> JSONValue { JSONValue(storage: storage, index: index.node) }

    /// The value's `JSONValue.bool`.
    package func bool(at index: Index) -> Bool? { value(at: index).bool }

    /// The value's `JSONValue.int64`.
    package func int64(at index: Index) -> Int64? { value(at: index).int64 }

    /// The value's `JSONValue.string`.
    package func string(at index: Index) -> String? { value(at: index).string }

    /// Calls `body` with a string's content.
    ///
    /// `nil` if the value is not a string, or has escapes.
    package func withPlainString<Result>(at index: Index, _ body: (Span<UInt8>) -> Result?) -> Result? {
        let node = storage.nodes[index.node]
        guard node.kind == .string, !node.hasEscapes else { return nil }
        let bytes = storage.bytes
        return body(bytes.span.extracting(node.content))
    }
}
