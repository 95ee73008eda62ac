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

/// Where one member of an object stands in its document's bytes.
///
/// Plain numbers: who goes through many members keeps no reference for each.
package struct JSONMemberSpan: Sendable {
    /// The key with its quotes.
    package let key: Range<Int>
    package let value: Range<Int>
    /// Whether the key's content is other bytes than those between its quotes.
    package let isKeyEscaped: Bool
}

extension JSONValue {
    /// The members of an object in the order of the text; none for anything else.
    package var memberSpans: [JSONMemberSpan] {
        guard kind == .object else { return [] }
        let (nodes, end) = (storage.nodes, Int(node.next))
        var spans: [JSONMemberSpan] = []
        spans.reserveCapacity(count)
        var key = index + 1
        while key < end {
            let (name, value) = (nodes[key], nodes[key + 1])
            spans.append(
                JSONMemberSpan(
                    key: Int(name.start)..<Int(name.end),
                    value: Int(value.start)..<Int(value.end),
                    isKeyEscaped: name.hasEscapes
                )
            )
            key = Int(value.next)
        }
        return spans
    }

    /// A member's key with its escapes replaced, in UTF-8.
    package func decodedKey(of member: JSONMemberSpan) -> [UInt8] {
        let content = member.key.lowerBound + 1..<member.key.upperBound - 1
        let bytes = storage.bytes
        var decoded: [UInt8] = []
        StringContent.decode(bytes.span, content, into: &decoded)
        return decoded
    }
}
