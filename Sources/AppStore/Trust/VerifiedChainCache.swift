/// The chains of the last headers, found by the exact bytes of the header segment.
///
/// Every message of one leaf has the same header, and Apple has a leaf every two years, so the list
/// is short and its first entry nearly always the one. Only a header whose JWS had a good signature
/// comes in: nobody but a holder of a certified key can push others out.
struct VerifiedChainCache {
    private struct Entry {
        let header: [UInt8]
        let chain: VerifiedChain
    }

    let entriesMax: Int
    private var entries: [Entry] = []

    init(entriesMax: Int) {
        self.entriesMax = entriesMax
    }

    var count: Int { entries.count }

    /// The chain of the known header that a token begins with, and where that header ends.
    ///
    /// A known header holds no dot, so it is the token's whole first segment where a dot follows:
    /// nobody has to look for that dot in four thousand characters.
    mutating func chain(beginning token: Token) -> (chain: VerifiedChain, headerEnd: Int)? {
        let bytes = token.bytes
        for index in entries.indices {
            let known = entries[index].header
            let end = token.range.lowerBound + known.count
            guard end < token.range.upperBound, bytes[end] == UInt8(ascii: "."),
                ByteSearch.hasPrefix(known.span, bytes.span, at: token.range.lowerBound)
            else { continue }
            if index > 0 {
                entries.insert(entries.remove(at: index), at: 0)
            }
            return (entries[0].chain, end)
        }
        return nil
    }

    mutating func insert(_ chain: VerifiedChain, for header: ArraySlice<UInt8>) {
        guard entriesMax > 0 else { return }
        if entries.count >= entriesMax {
            entries.removeLast()
        }
        entries.insert(Entry(header: Array(header), chain: chain), at: 0)
    }
}
