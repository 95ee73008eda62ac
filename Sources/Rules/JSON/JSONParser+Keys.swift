extension JSONParser {
    /// Maximum keys of an object that are compared during reading; a key with escapes, or longer than
    /// `keyBytesComparedMax`, also ends the comparison.
    ///
    /// All keys are then checked at the object's end with a hash table. Its hash is seeded per process, so a sender
    /// cannot provoke collisions.
    private static let keysComparedMax = 32
    private static let keyBytesComparedMax = 32

    /// Throws if the object already has this key, or defers the check to the object's end.
    mutating func checkKey(_ input: Span<UInt8>, at key: Int) throws(JSONError) {
        let container = open[open.count - 1]
        guard !container.hashesKeys else { return }
        let node = nodes[key]
        guard container.count < Self.keysComparedMax, !node.hasEscapes, node.content.count <= Self.keyBytesComparedMax
        else {
            open[open.count - 1].hashesKeys = true
            return
        }
        let isNew = open[open.count - 1].keys.insert(KeyFilter.hash(input, node.content))
        if !isNew {
            // Another key may have set the bit: compare the bytes.
            try requireNew(key, amongKeysOf: container, input)
        }
    }

    private func requireNew(_ key: Int, amongKeysOf container: OpenContainer, _ input: Span<UInt8>) throws(JSONError) {
        var other = container.node + 1
        while other < key {
            if haveEqualContent(nodes[other], nodes[key], in: input) {
                throw JSONError(code: .duplicateKey, offset: Int(nodes[key].start))
            }
            // The value follows its key; the value's `next` is the next key.
            other = Int(nodes[other + 1].next)
        }
    }

    private func haveEqualContent(_ first: JSONNode, _ second: JSONNode, in input: Span<UInt8>) -> Bool {
        if first.hasEscapes || second.hasEscapes {
            var decoded: (first: [UInt8], second: [UInt8]) = ([], [])
            StringContent.decode(input, first.content, into: &decoded.first)
            StringContent.decode(input, second.content, into: &decoded.second)
            return decoded.first == decoded.second
        }
        guard first.content.count == second.content.count else { return false }
        let distance = second.content.lowerBound - first.content.lowerBound
        for index in first.content where input[index] != input[index + distance] { return false }
        return true
    }

    /// Throws at the first key, in text order, that repeats an earlier one; does nothing unless the
    /// check was deferred.
    func checkHashedKeys(_ input: Span<UInt8>, _ container: OpenContainer) throws(JSONError) {
        guard container.hashesKeys else { return }
        var table = HashedKeys(count: Int(container.count))
        var decoded: [UInt8] = []
        var key = container.node + 1
        while key < nodes.count {
            let isNew = table.insert(key, hash: hash(input, nodes[key], decodingInto: &decoded)) { other in
                haveEqualContent(nodes[other], nodes[key], in: input)
            }
            guard isNew else { throw JSONError(code: .duplicateKey, offset: Int(nodes[key].start)) }
            key = Int(nodes[key + 1].next)
        }
    }

    /// - Parameter decoded: temporary storage, reused between calls.
    private func hash(_ input: Span<UInt8>, _ key: JSONNode, decodingInto decoded: inout [UInt8]) -> Int {
        var hasher = Hasher()
        if key.hasEscapes {
            decoded.removeAll(keepingCapacity: true)
            StringContent.decode(input, key.content, into: &decoded)
            decoded.withUnsafeBytes { hasher.combine(bytes: $0) }
        } else {
            input.extracting(key.content).withUnsafeBytes { hasher.combine(bytes: $0) }
        }
        return hasher.finalize()
    }
}

extension JSONNode {
    /// The bytes between the string's quotes.
    var content: Range<Int> { Int(start) + 1..<Int(end) - 1 }
}

/// A hash table of a large object's keys, with open addressing, at most half full.
private struct HashedKeys {
    /// The slots; node 0 marks a free slot, because a key always follows its object's node.
    private var slots: [(hash: Int, node: Int)]

    init(count: Int) {
        let capacity = 1 << (Int.bitWidth - max(4, 2 * count).leadingZeroBitCount)
        slots = Array(repeating: (hash: 0, node: 0), count: capacity)
    }

    /// Adds a key; returns false and changes nothing if the table already contains an equal key.
    mutating func insert(_ node: Int, hash: Int, isEqual: (Int) -> Bool) -> Bool {
        var index = hash & (slots.count - 1)
        while slots[index].node != 0 {
            if slots[index].hash == hash, isEqual(slots[index].node) { return false }
            index = (index + 1) & (slots.count - 1)
        }
        slots[index] = (hash, node)
        return true
    }
}

/// A filter of an object's keys, in which each key sets one of 256 bits.
///
/// An unset bit proves that a key is new; the keys of an Apple payload seldom share a bit.
struct KeyFilter {
    private var words = InlineArray<4, UInt64>(repeating: 0)

    /// Sets the key's bit; returns whether it was unset, which proves that the key is new.
    mutating func insert(_ hash: UInt8) -> Bool {
        let (word, bit) = (Int(hash >> 6), UInt64(1) << UInt64(hash & 63))
        defer { words[word] |= bit }
        return words[word] & bit == 0
    }

    /// Hashes a key's length and its first, middle and last byte, which distinguish most field names.
    static func hash(_ bytes: Span<UInt8>, _ content: Range<Int>) -> UInt8 {
        guard !content.isEmpty else { return 0 }
        let first = bytes[content.lowerBound]
        let middle = bytes[content.lowerBound + content.count / 2]
        let last = bytes[content.upperBound - 1]
        let mixed = UInt64(content.count) << 24 | UInt64(first) << 16 | UInt64(middle) << 8 | UInt64(last)
        return UInt8(truncatingIfNeeded: (mixed &* 0x9E37_79B9_7F4A_7C15) >> 56)
    }
}
