extension JSONStorage {
    func hasString(at index: Int, equalTo expected: UnsafeBufferPointer<UInt8>) -> Bool {
        let content = nodes[index].content
        guard !nodes[index].hasEscapes else {
            guard !nodes[index].hasLoneSurrogate else { return false }
            let bytes = bytes
            return StringContent.equals(bytes.span, content, expected)
        }
        guard content.count == expected.count else { return false }
        let start = content.lowerBound
        for offset in 0..<expected.count where bytes[start + offset] != expected[offset] {
            return false
        }
        return true
    }

    /// A string's content with its escapes replaced.
    func decodedContent(at index: Int) -> [UInt8] {
        let bytes = bytes
        var decoded: [UInt8] = []
        StringContent.decode(bytes.span, nodes[index].content, into: &decoded)
        return decoded
    }
}
