/// Reads an object's members by their names, cheapest in the order in which they stand.
///
/// Each search begins behind the member that was found last, so that who asks in the order of the
/// text compares each name once. The result never depends on that order.
package struct JSONObjectReader: Sendable {
    private let storage: JSONStorage
    private let first: Int
    private let end: Int
    private var next: Int

    /// Nil where the value is no object.
    package init?(_ value: JSONValue) {
        guard value.kind == .object else { return nil }
        storage = value.storage
        first = value.index + 1
        end = Int(value.node.next)
        next = first
    }

    /// The value of a member; nil where there is none.
    package mutating func member(_ name: StaticString) -> JSONValue? {
        let expected = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        guard let key = key(expected, next, end) ?? key(expected, first, next) else { return nil }
        next = Int(storage.nodes[key + 1].next)
        return JSONValue(storage: storage, index: key + 1)
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
