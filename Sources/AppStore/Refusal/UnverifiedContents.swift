package import JSON
import OpenSSL

/// What a body holds, taken apart without a look at any signature: for people who look into a
/// refused body, never for a decision.
package struct UnverifiedContents: Sendable {
    /// One JWS, receipt or in-app record of the body.
    package struct Part: Sendable {
        /// Where it stands, such as `signedPayload.data.signedRenewalInfo`; `body` for the whole.
        package let path: String
        /// Of a JWS; nil where there is none, or where it is no JSON.
        package var header: JSONValue?
        /// What is signed; of a receipt its attributes by their names.
        package var payload: JSONValue?
        /// Why there is no payload; nil where there is one.
        package var problem: String?
    }

    /// In the order of the body; what stands in a payload follows what all bodies hold.
    package private(set) var parts: [Part] = []
    /// Whether nothing was left out for its number or its nesting.
    package private(set) var isWhole = true

    private static let partsMax = 100
    private static let nestingMax = 4
    /// More than fit into a body.
    private static let recordsMax = 10_000
    private static let certificatesMax = 20
    private static let certificateBytesMax = 64 << 10
    /// A certificate or a receipt, and no ordinary text that happens to begin like one.
    private static let receiptCharactersMin = 200

    /// What waits to be taken apart.
    private struct Content {
        let path: String
        let bytes: [UInt8]
        let nesting: Int
    }

    package init(of body: [UInt8]) {
        var waiting = [Content(path: "body", bytes: Self.trimmed(body), nesting: 0)]
        var next = 0
        while next < waiting.count {
            let content = waiting[next]
            next += 1
            let first = content.bytes.first
            if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
                if let root = Self.json(content.bytes) {
                    waiting += Self.contents(of: root, in: content)
                }
            } else if Self.isToken(content.bytes) {
                waiting += addToken(content)
            } else if content.bytes.starts(with: "MI".utf8) {
                addReceipt(content)
            }
            if waiting.count > Self.partsMax {
                isWhole = false
                waiting.removeSubrange(max(next, Self.partsMax)...)
            }
        }
    }

    private mutating func addToken(_ content: Content) -> [Content] {
        let token = Token(content.bytes, content.bytes.indices)
        var part = Part(path: content.path)
        guard let jws = try? CompactJWS(token) else {
            part.problem = "no compact JWS: it has not three segments"
            parts.append(part)
            return []
        }
        part.header = Self.segment(jws.header, of: content.bytes)
        part.payload = Self.segment(jws.payload, of: content.bytes)
        if part.payload == nil {
            part.problem = "the payload is no JSON in base64url"
        }
        parts.append(part)
        guard let payload = part.payload else { return [] }
        guard content.nesting < Self.nestingMax else {
            isWhole = false
            return []
        }
        return Self.contents(of: payload, in: content)
    }

    private mutating func addReceipt(_ content: Content) {
        var part = Part(path: content.path)
        guard let ber = try? ReceiptText(content.bytes[...]).decoded() else {
            part.problem = "no base64"
            return parts.append(part)
        }
        if LegacyReceipt(ber) != nil {
            part.problem = LegacyReceipt.advice
            return parts.append(part)
        }
        let outline = try? MessageOutline(
            ber: ber,
            certificateCounts: Array(0...Self.certificatesMax),
            certificateBytesMax: Self.certificateBytesMax
        )
        guard let message = outline.flatMap({ try? SignedMessage($0) }),
            let receipt = try? ReceiptContents(message.content, recordsMax: Self.recordsMax)
        else {
            part.problem = "no PKCS #7 message with a receipt in it"
            return parts.append(part)
        }
        part.payload = receipt.json
        parts.append(part)
        for (index, value) in receipt.records.enumerated() {
            guard index < Self.partsMax else {
                isWhole = false
                return
            }
            var record = Part(path: "\(content.path).in_app[\(index)]")
            record.payload = (try? ReceiptRecord(value, of: receipt))?.json
            record.problem = record.payload == nil ? "no in-app record" : nil
            parts.append(record)
        }
    }

    /// The tokens and receipts that stand as strings in a value, in the order of the text.
    private static func contents(of root: JSONValue, in outer: Content) -> [Content] {
        var found: [Content] = []
        var waiting = [(value: root, path: outer.path == "body" ? "" : outer.path)]
        while let (value, path) = waiting.popLast() {
            switch value.kind {
            case .object:
                let prefix = path.isEmpty ? "" : path + "."
                let members = value.members.map { key, member in
                    (value: member, path: prefix + (key.string ?? "?"))
                }
                waiting += members.reversed()
            case .array:
                let elements = value.elements.enumerated().map { index, element in
                    (value: element, path: "\(path)[\(index)]")
                }
                waiting += elements.reversed()
            case .string:
                guard let bytes = value.stringBytes, isToken(bytes) || isReceipt(bytes),
                    found.count <= partsMax
                else { continue }
                found.append(Content(path: path, bytes: bytes, nesting: outer.nesting + 1))
            case .number, .bool, .null:
                continue
            }
        }
        return found
    }

    private static func isToken(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: "eyJ".utf8) && bytes.contains(UInt8(ascii: "."))
    }

    private static func isReceipt(_ bytes: [UInt8]) -> Bool {
        bytes.count >= receiptCharactersMin && bytes.starts(with: "MI".utf8)
    }

    private static func segment(_ range: Range<Int>, of bytes: [UInt8]) -> JSONValue? {
        Base64.url.decode(bytes.span.extracting(range)).flatMap(json)
    }

    private static func json(_ bytes: [UInt8]) -> JSONValue? {
        try? JSONDocument(parsing: bytes, policy: .grammar).root
    }

    private static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return [] }
        return Array(bytes[first...last])
    }
}
