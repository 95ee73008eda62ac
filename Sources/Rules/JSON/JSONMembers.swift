/// The members of an object, in the order of the text.
package struct JSONMembers: Sequence, Sendable {
    let container: JSONValue

    package func makeIterator() -> Iterator {
        let nodes = container.nodes(inside: .object)
        return Iterator(storage: container.storage, index: nodes.lowerBound, end: nodes.upperBound)
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
        let nodes = container.nodes(inside: .array)
        return Iterator(storage: container.storage, index: nodes.lowerBound, end: nodes.upperBound)
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

extension JSONValue {
    /// The nodes of the value's members or elements; empty for a value of another kind.
    fileprivate func nodes(inside kind: JSONKind) -> Range<Int> {
        self.kind == kind ? index + 1..<Int(node.next) : 0..<0
    }
}

/// The position of one member of an object in its document's bytes.
///
/// The type has only plain numbers, so that iterating over many members retains no reference for each.
package struct JSONMemberSpan: Sendable {
    /// The key with its quotes.
    package let key: Range<Int>
    package let value: Range<Int>
    /// Whether the key's content differs from the bytes between its quotes.
    package let isKeyEscaped: Bool
}

extension JSONValue {
    /// The members of an object in the order of the text; empty for anything else.
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
                    key: Int(name.start)..<Int(name.end), value: Int(value.start)..<Int(value.end),
                    isKeyEscaped: name.hasEscapes))
            key = Int(value.next)
        }
        return spans
    }

    /// The members with recognized keys, in the order of the text; empty for anything but an object.
    ///
    /// The function makes one pass and creates no values for skipped members: an object may have tens of thousands of
    /// them, with escapes in each key.
    ///
    /// - Parameters:
    ///   - keyBytesMax: maximum bytes of a recognized key, with its escapes replaced.
    ///   - recognize: a closure that receives a key's bytes, with its escapes replaced.
    package func members<Name>(keyBytesMax: Int, recognize: (borrowing Span<UInt8>) -> Name?) -> [(
        name: Name, value: JSONValue
    )] {
        guard kind == .object else { return [] }
        let (nodes, end, bytes) = (storage.nodes, Int(node.next), storage.bytes)
        var found: [(name: Name, value: JSONValue)] = []
        var decoded: [UInt8] = []
        var key = index + 1
        while key < end {
            let content = nodes[key].content
            var name: Name?
            if !nodes[key].hasEscapes {
                if content.count <= keyBytesMax { name = recognize(bytes.span.extracting(content)) }
            } else if content.count <= keyBytesMax * StringContent.escapeBytesMax, !nodes[key].hasLoneSurrogate {
                decoded.removeAll(keepingCapacity: true)
                StringContent.decode(bytes.span, content, into: &decoded)
                name = recognize(decoded.span)
            }
            if let name { found.append((name, JSONValue(storage: storage, index: key + 1))) }
            key = Int(nodes[key + 1].next)
        }
        return found
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
