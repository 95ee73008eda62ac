package import JSON
import OpenSSL

/// The tokens and receipts of a body, decoded without checking any signature, for people who inspect a refused body;
/// never for a decision.
///
/// The body may come from anybody. Time and memory are linear in its size: a path is a list of steps, whose text is
/// made only for a few parts, and each level of nesting decodes fewer bytes than the enclosing level.
package struct UnverifiedContents: Sendable {
    package struct Path: Sendable {
        package enum Step: Sendable {
            /// The key of a member.
            case member(JSONValue)
            case element(Int)
        }

        /// The steps from the body to a part; empty for the body itself.
        package let steps: [Step]

        /// The path as text, such as `signedPayload.data.signedRenewalInfo`; `body` for the whole body.
        ///
        /// - Parameter name: a closure that returns the text of a member's key.
        package func text(_ name: (JSONValue) -> String) -> String {
            var text = ""
            for step in steps {
                switch step {
                case .member(let key): text += (text.isEmpty ? "" : ".") + name(key)
                case .element(let index): text += "[\(index)]"
                }
            }
            return text.isEmpty ? "body" : text
        }
    }

    /// A JWS, receipt or in-app record of the body.
    package struct Part: Sendable {
        package let path: Path
        /// The number of an in-app record within its receipt.
        package var record: Int?
        /// The header of a JWS.
        ///
        /// `nil` if absent or not JSON.
        package var header: JSONValue?
        /// The signed value; for a receipt, its attributes by their names.
        package var payload: JSONValue?
        /// The reason why there is no payload.
        ///
        /// `nil` if there is a payload.
        package var problem: String?
    }

    /// The parts in the order of the body; nested payloads follow all outer parts.
    package private(set) var parts: [Part] = []
    /// The body as JSON.
    ///
    /// `nil` if it is not JSON, or exceeds the limits of the reader.
    package private(set) var root: JSONValue?
    /// Whether no part was omitted because of its number or its nesting.
    package private(set) var isWhole = true

    private let partsMax: Int
    private static let nestingMax = 4
    /// Maximum in-app records, more than a body can contain.
    private static let recordsMax = 10_000
    private static let certificatesMax = 20
    private static let certificateBytesMax = 64 << 10
    /// Minimum length of a certificate or a receipt, which excludes ordinary text with a similar beginning.
    private static let receiptCharactersMin = 200

    /// A token, a receipt or JSON to decode.
    private struct Content {
        let steps: [Path.Step]
        let bytes: [UInt8]
        let nesting: Int
    }

    /// - Parameter partsMax: maximum number of parts.
    package init(of body: [UInt8], partsMax: Int = 100) {
        self.partsMax = partsMax
        let text = BodyForm.withoutWhitespace(body) ?? 0..<0
        var waiting = [Content(steps: [], bytes: Array(body[text]), nesting: 0)]
        var next = 0
        while next < waiting.count {
            let content = waiting[next]
            next += 1
            let first = content.bytes.first
            if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
                root = Self.json(content.bytes)
                waiting += root.map { contents(of: $0, in: content) } ?? []
            } else if Self.isToken(content.bytes) {
                waiting += addToken(content)
            } else if content.bytes.starts(with: "MI".utf8) {
                addReceipt(content)
            }
            if waiting.count > partsMax {
                isWhole = false
                waiting.removeSubrange(max(next, partsMax)...)
            }
        }
    }

    private mutating func addToken(_ content: Content) -> [Content] {
        let token = Token(content.bytes, content.bytes.indices)
        var part = Part(path: Path(steps: content.steps))
        guard let jws = try? CompactJWS(token) else {
            part.problem = "not a compact JWS: it does not have three segments"
            parts.append(part)
            return []
        }
        part.header = Self.segment(jws.header, of: content.bytes)
        part.payload = Self.segment(jws.payload, of: content.bytes)
        if part.payload == nil { part.problem = "the payload is not JSON in base64url" }
        parts.append(part)
        guard let payload = part.payload else { return [] }
        guard content.nesting < Self.nestingMax else {
            isWhole = false
            return []
        }
        return contents(of: payload, in: content)
    }

    private mutating func addReceipt(_ content: Content) {
        var part = Part(path: Path(steps: content.steps))
        guard let ber = try? ReceiptText(content.bytes[...]).decoded() else {
            part.problem = "no base64"
            return parts.append(part)
        }
        if LegacyReceipt(ber) != nil {
            part.problem = LegacyReceipt.advice
            return parts.append(part)
        }
        let outline = try? MessageOutline(
            ber: ber, certificateCounts: Array(0...Self.certificatesMax), certificateBytesMax: Self.certificateBytesMax)
        guard let message = outline.flatMap({ try? SignedMessage($0) }),
            let receipt = try? ReceiptContents(message.content, recordsMax: Self.recordsMax)
        else {
            part.problem = "not a PKCS #7 message that contains a receipt"
            return parts.append(part)
        }
        part.payload = receipt.json
        parts.append(part)
        for (index, value) in receipt.records.enumerated() {
            guard parts.count < partsMax else {
                isWhole = false
                return
            }
            var record = Part(path: part.path, record: index)
            record.payload = (try? ReceiptRecord(value, of: receipt))?.json
            record.problem = record.payload == nil ? "not an in-app record" : nil
            parts.append(record)
        }
    }

    /// The tokens and receipts among the strings of a value, in the order of the text.
    private func contents(of root: JSONValue, in outer: Content) -> [Content] {
        var found: [Content] = []
        var steps = outer.steps
        find(in: root, &steps, nesting: outer.nesting + 1, &found)
        return found
    }

    /// Finds contents recursively, as deep as the reader allows JSON to nest.
    private func find(in value: JSONValue, _ steps: inout [Path.Step], nesting: Int, _ found: inout [Content]) {
        guard found.count <= partsMax else { return }
        switch value.kind {
        case .object:
            for (key, member) in value.members {
                steps.append(.member(key))
                find(in: member, &steps, nesting: nesting, &found)
                steps.removeLast()
            }
        case .array:
            for (index, element) in value.elements.enumerated() {
                steps.append(.element(index))
                find(in: element, &steps, nesting: nesting, &found)
                steps.removeLast()
            }
        case .string:
            guard let bytes = value.stringBytes, Self.isToken(bytes) || Self.isReceipt(bytes) else { return }
            found.append(Content(steps: steps, bytes: bytes, nesting: nesting))
        case .number, .bool, .null: return
        }
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
}
