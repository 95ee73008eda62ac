/// A check that bytes have the form of DER, which OpenSSL's BER-tolerant decoder omits.
///
/// The scan checks tags, lengths and nesting, and the primitive values with a single form in DER (BOOLEAN, INTEGER,
/// NULL). It leaves the content of an OCTET STRING or BIT STRING to its reader; elements inside an OCTET STRING, such
/// as an extension's value, are counted too.
struct DERScan {
    private static let depthMax = 24
    /// Maximum elements; Apple's certificates have up to about 110, and a parser's work grows with their number.
    static let elementsMax = 192

    enum Outcome {
        case canonical
        case tooManyElements
        case trailingBytes
        case malformed
    }

    /// Scans one element that must occupy all of `bytes`; reads each byte at most once, without recursion.
    static func outcome(of bytes: [UInt8]) -> Outcome {
        var scan = DERScan(bytes: bytes)
        guard let first = scan.header(before: bytes.count) else { return .malformed }
        guard first.end == bytes.count else { return .trailingBytes }
        guard scan.scan(first) else { return scan.isWithinBound ? .malformed : .tooManyElements }
        return .canonical
    }

    private struct Element {
        let tag: UInt8
        let start: Int
        let end: Int
        var isConstructed: Bool { tag & 0x20 != 0 }
        var isUniversal: Bool { tag & 0xC0 == 0 }
        var number: UInt8 { tag & 0x1F }
    }

    private let bytes: [UInt8]
    private var offset = 0
    private var elementsCount = 0

    private var isWithinBound: Bool { elementsCount <= Self.elementsMax }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private mutating func scan(_ first: Element) -> Bool {
        var ends = [first.end]
        guard enter(first) else { return false }
        if !first.isConstructed { ends.removeLast() }
        while let end = ends.last {
            if offset == end {
                ends.removeLast()
                continue
            }
            guard let element = header(before: end), enter(element) else { return false }
            if element.isConstructed {
                guard ends.count < Self.depthMax else { return false }
                ends.append(element.end)
            }
        }
        return true
    }

    /// Reads tag and length.
    ///
    /// `nil` for a long tag, an indefinite or padded length, or a length beyond the enclosing element.
    private mutating func header(before end: Int) -> Element? {
        guard let tag = next(before: end), tag & 0x1F != 0x1F, let short = next(before: end) else { return nil }
        var length = Int(short)
        if short >= 0x80 {
            let lengthBytes = Int(short & 0x7F)
            guard (1...3).contains(lengthBytes) else { return nil }
            length = 0
            for _ in 0..<lengthBytes {
                guard let byte = next(before: end) else { return nil }
                length = length << 8 | Int(byte)
            }
            let shortest = lengthBytes == 1 ? 0x80 : 1 << (8 * (lengthBytes - 1))
            guard length >= shortest else { return nil }
        }
        guard length <= end - offset else { return nil }
        return Element(tag: tag, start: offset, end: offset + length)
    }

    private mutating func next(before end: Int) -> UInt8? {
        guard offset < end else { return nil }
        defer { offset += 1 }
        return bytes[offset]
    }

    /// Enters a constructed element, skips a primitive one.
    private mutating func enter(_ element: Element) -> Bool {
        elementsCount += 1
        if element.tag == 4 {
            elementsCount += ElementCount.of(bytes, element.start..<element.end, countMax: Self.elementsMax)
        }
        guard isWithinBound else { return false }
        let isSequenceOrSet = element.number == 16 || element.number == 17
        if element.isConstructed { return !element.isUniversal || isSequenceOrSet }
        offset = element.end
        guard element.isUniversal else { return true }
        let count = element.end - element.start
        switch element.number {
        case 1: return count == 1 && (bytes[element.start] == 0 || bytes[element.start] == 0xFF)
        case 2, 10: return isShortestInteger(element)
        case 5: return count == 0
        default: return !isSequenceOrSet
        }
    }

    private func isShortestInteger(_ element: Element) -> Bool {
        let count = element.end - element.start
        guard count > 1 else { return count == 1 }
        let isPadded =
            bytes[element.start] == 0 && bytes[element.start + 1] < 0x80
            || bytes[element.start] == 0xFF && bytes[element.start + 1] >= 0x80
        return !isPadded
    }
}

/// The number of ASN.1 elements in a range, as a lenient parser would count them.
///
/// The scan goes from header to header and ignores the ends of constructed elements, so that no encoding, definite or
/// indefinite, hides elements from the scan.
enum ElementCount {
    /// Counts elements up to the first bytes that are not an element, or until the count exceeds `countMax`.
    static func of(_ bytes: [UInt8], _ range: Range<Int>, countMax: Int) -> Int {
        var offset = range.lowerBound
        var count = 0
        while count <= countMax, let element = header(bytes, from: offset, to: range.upperBound) {
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

    /// Reads the header of an element.
    ///
    /// `nil` if tag and length exceed the range.
    private static func header(_ bytes: [UInt8], from start: Int, to end: Int) -> Header? {
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
        return Header(isConstructed: bytes[start] & 0x20 != 0, content: offset, end: offset + min(length, end - offset))
    }
}
