extension JSONParser {
    /// Up to so many keys of an object are compared as they come; more are sorted at its end, so
    /// that a hostile object costs n log n.
    private static let keysComparedMax = 32

    /// Refuses a key that its object already has.
    mutating func checkKey(_ input: Span<UInt8>, at key: Int) throws(JSONError) {
        let container = open[open.count - 1]
        guard container.count < Self.keysComparedMax else { return }
        let isNew = open[open.count - 1].keys.insert(hash(input, nodes[key]))
        if !isNew {
            try compare(key, withKeysOf: container, input)
        }
    }

    private func compare(
        _ key: Int,
        withKeysOf container: OpenContainer,
        _ input: Span<UInt8>
    ) throws(JSONError) {
        var other = container.node + 1
        while other < key {
            if haveEqualContent(nodes[other], nodes[key], input) {
                throw JSONError(code: .duplicateKey, offset: Int(nodes[key].start))
            }
            other = Int(nodes[other + 1].next)
        }
    }

    private func hash(_ input: Span<UInt8>, _ key: JSONNode) -> UInt8 {
        guard !key.hasEscapes else {
            var decoded: [UInt8] = []
            StringContent.decode(input, key.content, into: &decoded)
            return KeyFilter.hash(decoded.span, 0..<decoded.count)
        }
        return KeyFilter.hash(input, key.content)
    }

    private func haveEqualContent(
        _ first: JSONNode,
        _ second: JSONNode,
        _ input: Span<UInt8>
    ) -> Bool {
        if first.hasEscapes || second.hasEscapes {
            var decoded: (first: [UInt8], second: [UInt8]) = ([], [])
            StringContent.decode(input, first.content, into: &decoded.first)
            StringContent.decode(input, second.content, into: &decoded.second)
            return decoded.first == decoded.second
        }
        guard first.content.count == second.content.count else { return false }
        let distance = second.content.lowerBound - first.content.lowerBound
        for index in first.content where input[index] != input[index + distance] {
            return false
        }
        return true
    }

    /// Sorts the keys of an object that was too large to compare each with each.
    func checkKeysOfLargeObject(
        _ input: Span<UInt8>,
        _ container: OpenContainer
    ) throws(JSONError) {
        guard container.count > Self.keysComparedMax else { return }
        var text: [UInt8] = []
        var keys: [(content: Range<Int>, offset: Int)] = []
        keys.reserveCapacity(Int(container.count))
        var key = container.node + 1
        while key < nodes.count {
            let start = text.count
            StringContent.decode(input, nodes[key].content, into: &text)
            keys.append((start..<text.count, Int(nodes[key].start)))
            key = Int(nodes[key + 1].next)
        }
        keys.sort { text[$0.content].lexicographicallyPrecedes(text[$1.content]) }
        for index in keys.indices.dropFirst()
        where text[keys[index].content] == text[keys[index - 1].content] {
            let offset = max(keys[index].offset, keys[index - 1].offset)
            throw JSONError(code: .duplicateKey, offset: offset)
        }
    }
}

extension JSONNode {
    /// What stands between a string's quotes.
    var content: Range<Int> { Int(start) + 1..<Int(end) - 1 }
}
