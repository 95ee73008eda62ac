/// The members of an object, in the order of the text.
package struct JSONMembers: Sequence, Sendable {
    let container: JSONValue

    package func makeIterator() -> Iterator {
        guard container.kind == .object else {
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

        package mutating func next() -> (key: JSONValue, value: JSONValue)? {
            guard index < end else { return nil }
            let key = JSONValue(storage: storage, index: index)
            let value = JSONValue(storage: storage, index: index + 1)
            index = Int(value.node.next)
            return (key, value)
        }
    }
}
