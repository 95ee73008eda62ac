/// The elements of an array.
package struct JSONElements: Sequence, Sendable {
    let container: JSONValue

    package func makeIterator() -> Iterator {
        guard container.kind == .array else {
            return Iterator(storage: container.storage, index: 0, end: 0)
        }
        return Iterator(
            storage: container.storage,
            index: container.index + 1,
            end: Int(container.node.next)
        )
    }

    package struct Iterator: IteratorProtocol {
        let storage: JSONStorage
        var index: Int
        let end: Int

        package mutating func next() -> JSONValue? {
            guard index < end else { return nil }
            let value = JSONValue(storage: storage, index: index)
            index = Int(value.node.next)
            return value
        }
    }
}
