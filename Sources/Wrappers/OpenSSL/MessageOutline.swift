/// The outer structure of a PKCS #7 message: the positions of its certificates, and the check that its size and depth
/// are within bounds, so that it may be parsed.
package struct MessageOutline: Sendable {
    package let ber: [UInt8]
    /// The certificates in the order of the message, not parsed.
    package let certificates: [[UInt8]]

    /// Scans one message that must occupy all of `ber`.
    ///
    /// - Parameters:
    ///   - certificateCounts: the allowed numbers of certificates.
    ///   - certificateBytesMax: the maximum size of each certificate.
    package init(ber: [UInt8], certificateCounts: [Int], certificateBytesMax: Int) throws(SignedMessageError) {
        switch BERScan.outcome(of: ber) {
        case .malformed: throw .notBER
        case .trailingBytes: throw .trailingBytes
        case .certificates(let ranges):
            guard certificateCounts.contains(ranges.count) else { throw .certificateCount(ranges.count) }
            guard ranges.allSatisfy({ $0.count <= certificateBytesMax }) else { throw .certificateTooLarge }
            self.ber = ber
            certificates = ranges.map { Array(ber[$0]) }
        }
    }
}

/// A scan of a PKCS #7 message before OpenSSL parses it, for its form, its size and the positions of its certificates.
///
/// The scan allows BER, as Xcode writes it: indefinite lengths, and octet strings in pieces. It is one pass without
/// recursion that reads each byte at most once, and bounds everything that the parser's work depends on.
struct BERScan {
    /// Maximum elements; Apple's receipts have about 250, most of them in their certificates.
    private static let elementsMax = 4_096
    private static let depthMax = 24
    private static let stringDepthMax = 4

    enum Outcome {
        /// The ranges of the certificates, in the order of the message.
        case certificates([Range<Int>])
        case trailingBytes
        case malformed
    }

    /// Scans one element that must occupy all of `bytes`.
    static func outcome(of bytes: [UInt8]) -> Outcome {
        var scan = BERScan(bytes: bytes)
        guard scan.scan() else { return .malformed }
        return scan.offset == bytes.count ? .certificates(scan.certificates) : .trailingBytes
    }

    /// The position of an element in a ContentInfo of SignedData (RFC 2315 §7, §9.1).
    private enum Role {
        case message
        case explicitContent
        case signedData
        case certificates
        case certificate
        case other
    }

    private struct Element {
        let tag: UInt8
        let start: Int
        /// The end of the element.
        ///
        /// `nil` if the end-of-contents octets end the element.
        let end: Int?

        var isEndOfContents: Bool { tag == 0 }
        var isConstructed: Bool { tag & 0x20 != 0 }
    }

    /// A constructed element whose content is being read.
    private struct Frame {
        let start: Int
        let end: Int?
        /// The end of the nearest enclosing element of known length.
        let limit: Int
        let role: Role
        /// Number of constructed octet strings around the element, including itself.
        let stringDepth: Int
        var childrenCount = 0
    }

    private let bytes: [UInt8]
    private var offset = 0
    private var elementsCount = 0
    private var frames: [Frame] = []
    private var certificates: [Range<Int>] = []

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private mutating func scan() -> Bool {
        guard let first = header(before: bytes.count), first.tag == Tag.sequence, push(first) else { return false }
        while let frame = frames.last {
            if frame.end == offset {
                pop()
                continue
            }
            guard let element = header(before: frame.limit) else { return false }
            if element.isEndOfContents {
                guard frame.end == nil, element.end == offset else { return false }
                pop()
            } else {
                guard enter(element, in: frame) else { return false }
            }
        }
        return true
    }

    /// Enters a constructed element, skips a primitive one.
    private mutating func enter(_ element: Element, in frame: Frame) -> Bool {
        elementsCount += 1
        guard elementsCount <= Self.elementsMax else { return false }
        if frame.stringDepth > 0 { guard element.tag & ~0x20 == Tag.octetString else { return false } }
        if element.isConstructed { return push(element) }
        guard let end = element.end, frame.role != .certificates else { return false }
        offset = end
        frames[frames.count - 1].childrenCount += 1
        return true
    }

    private mutating func push(_ element: Element) -> Bool {
        let isUniversal = element.tag & 0xC0 == 0
        let isString = element.tag == Tag.octetString | 0x20
        guard frames.count < Self.depthMax,
            !isUniversal || isString || element.tag == Tag.sequence || element.tag == Tag.set
        else { return false }
        let parent = frames.last
        let stringDepth = isString ? (parent?.stringDepth ?? 0) + 1 : 0
        guard stringDepth <= Self.stringDepthMax else { return false }
        let role = role(of: element)
        if !frames.isEmpty { frames[frames.count - 1].childrenCount += 1 }
        frames.append(
            Frame(
                start: element.start, end: element.end, limit: element.end ?? parent?.limit ?? bytes.count, role: role,
                stringDepth: stringDepth))
        return true
    }

    private func role(of element: Element) -> Role {
        guard let parent = frames.last else { return .message }
        switch (parent.role, element.tag, parent.childrenCount) {
        case (.message, Tag.contextZero, 1): return .explicitContent
        case (.explicitContent, Tag.sequence, 0): return .signedData
        case (.signedData, Tag.contextZero, _): return .certificates
        case (.certificates, _, _): return .certificate
        default: return .other
        }
    }

    private mutating func pop() {
        let frame = frames.removeLast()
        if frame.role == .certificate { certificates.append(frame.start..<offset) }
    }

    /// Reads tag and length.
    ///
    /// `nil` for a long tag, or a length beyond the enclosing element.
    private mutating func header(before limit: Int) -> Element? {
        let start = offset
        guard let tag = next(before: limit), tag & 0x1F != 0x1F, let short = next(before: limit) else { return nil }
        guard short != 0x80 else { return tag & 0x20 == 0 ? nil : Element(tag: tag, start: start, end: nil) }
        var length = Int(short)
        if short > 0x80 {
            let lengthBytes = Int(short & 0x7F)
            guard lengthBytes <= 4 else { return nil }
            length = 0
            for _ in 0..<lengthBytes {
                guard let byte = next(before: limit) else { return nil }
                length = length << 8 | Int(byte)
            }
        }
        guard length <= limit - offset else { return nil }
        return Element(tag: tag, start: start, end: offset + length)
    }

    private mutating func next(before limit: Int) -> UInt8? {
        guard offset < limit else { return nil }
        defer { offset += 1 }
        return bytes[offset]
    }

    private enum Tag {
        static let octetString: UInt8 = 0x04
        static let sequence: UInt8 = 0x30
        static let set: UInt8 = 0x31
        static let contextZero: UInt8 = 0xA0
    }
}
