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
