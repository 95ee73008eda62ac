/// How many ASN.1 elements lie in a range, as a lenient parser would find them.
///
/// One step from header to header without a look at where constructed elements end, so that no
/// encoding, definite or not, hides elements from it.
enum ElementCount {
    /// Stops at what is no element, and beyond `countMax`.
    static func of(_ bytes: [UInt8], _ range: Range<Int>, countMax: Int) -> Int {
        var offset = range.lowerBound
        var count = 0
        while count <= countMax, let element = header(bytes, offset, range.upperBound) {
            count += 1
            offset = element.isConstructed ? element.content : element.end
        }
        return count
    }

    private struct Header {
        let isConstructed: Bool
        let content: Int
        let end: Int
    }

    /// Nil where tag and length leave the range.
    private static func header(_ bytes: [UInt8], _ start: Int, _ end: Int) -> Header? {
        guard start < end else { return nil }
        var offset = start + 1
        if bytes[start] & 0x1F == 0x1F {
            while offset < end, bytes[offset] & 0x80 != 0 { offset += 1 }
            offset += 1
        }
        guard offset < end else { return nil }
        let short = bytes[offset]
        offset += 1
        var length = short < 0x80 ? Int(short) : 0
        if short > 0x80 {
            let lengthBytes = Int(short & 0x7F)
            guard lengthBytes <= 7, offset + lengthBytes <= end else { return nil }
            for byte in bytes[offset..<offset + lengthBytes] { length = length << 8 | Int(byte) }
            offset += lengthBytes
        }
        return Header(
            isConstructed: bytes[start] & 0x20 != 0,
            content: offset,
            end: offset + min(length, end - offset)
        )
    }
}
