/// A parsed document: the original bytes, and the position of each value in them.
///
/// Values are ranges of the bytes and are converted on demand. A number beyond every machine type is therefore
/// preserved, and a value can be copied into another text exactly as written.
package struct JSONDocument: Sendable {
    let storage: JSONStorage

    /// Reads one document in one pass, without recursion.
    ///
    /// - Throws: the first fault in the order of the bytes; a duplicate key in an object with many members is detected
    ///   at the object's end.
    package init(parsing bytes: [UInt8], limits: JSONLimits = .standard, policy: JSONPolicy = .strict) throws(JSONError)
    {
        var parser = JSONParser(limits: limits, policy: policy)
        try parser.parse(bytes.span)
        storage = JSONStorage(bytes: bytes, nodes: parser.nodes)
    }

    /// Reads the members of an object that precede a given member, and nothing after them.
    ///
    /// - Parameter member: the name of a member that is not the first; it is found only as `JSONWriter` writes it,
    ///   with no space before or after it. The root's `range` ends before its comma; if the member is not found,
    ///   everything is read.
    /// - Throws: the same errors as for a whole document.
    package init(parsing bytes: [UInt8], upToMember member: StaticString, limits: JSONLimits = .standard)
        throws(JSONError)
    {
        var parser = JSONParser(limits: limits, policy: .strict, lastMember: member)
        try parser.parse(bytes.span)
        storage = JSONStorage(bytes: bytes, nodes: parser.nodes)
    }

    package var root: JSONValue { JSONValue(storage: storage, index: 0) }
}

/// The limits of a document, so that hostile input costs a bounded amount of memory.
package struct JSONLimits: Sendable, Equatable {
    /// Maximum depth of nested containers.
    package var depthMax: Int
    /// Maximum values and keys of a document together.
    package var nodesMax: Int

    package init(depthMax: Int = 64, nodesMax: Int = 100_000) {
        precondition(depthMax >= 0 && nodesMax >= 0, "limits are counts")
        self.depthMax = depthMax
        self.nodesMax = nodesMax
    }

    package static let standard = JSONLimits()

    /// Limits for documents that this product wrote or already accepted: their size was limited at entry.
    package static let accepted = JSONLimits(depthMax: .max, nodesMax: .max)
}

/// The rules by which documents are accepted, within the limits.
package enum JSONPolicy: Sendable {
    /// All JSON texts of RFC 8259; a UTF-8 byte order mark at the start is skipped.
    case grammar
    /// The grammar, except for content that two readers could understand differently or PostgreSQL cannot store:
    /// duplicate keys, NUL and lone surrogates in strings, a byte order mark.
    case strict
}

/// The reason why bytes are not an acceptable document, and the offset of the fault.
///
/// The error contains nothing from the document, so it may be logged.
package struct JSONError: Error, Hashable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        case notUTF8 = "not_utf8"
        case byteOrderMark = "byte_order_mark"
        case unexpectedByte = "unexpected_byte"
        case unexpectedEnd = "unexpected_end"
        case trailingBytes = "trailing_bytes"
        case numberMalformed = "number_malformed"
        case escapeMalformed = "escape_malformed"
        case controlCharacter = "control_character"
        case nulInString = "nul_in_string"
        case loneSurrogate = "lone_surrogate"
        case duplicateKey = "duplicate_key"
        case depthExceeded = "depth_exceeded"
        case nodesExceeded = "nodes_exceeded"
        case bytesExceeded = "bytes_exceeded"
    }

    package let code: Code
    /// The position in the input, in bytes from its beginning.
    package let offset: Int
}

extension JSONError: CustomStringConvertible {
    package var description: String { "\(code.rawValue) at byte \(offset)" }
}

/// The six kinds of JSON value.
package enum JSONKind: UInt8, Sendable {
    case object
    case array
    case string
    case number
    case bool
    case null
}

/// A value or key of a document, in the order of the text.
///
/// A container is followed by its contents; in an object, keys and values alternate.
struct JSONNode: Sendable {
    /// The beginning of the value's text; `end` is its end, and a string's quotes are included.
    var start: UInt32
    var end: UInt32
    /// The index of the next node after this one and its contents.
    var next: UInt32
    /// Number of an object's members or an array's elements.
    var count: UInt32
    var kind: JSONKind
    /// Whether a string contains a backslash.
    var hasEscapes: Bool
    /// Whether a string contains half of a surrogate pair, which UTF-8 cannot represent.
    var hasLoneSurrogate: Bool
}

/// The storage that all values of a document share, so that a value retains one reference.
final class JSONStorage: Sendable {
    let bytes: [UInt8]
    let nodes: [JSONNode]

    init(bytes: [UInt8], nodes: [JSONNode]) {
        self.bytes = bytes
        self.nodes = nodes
    }
}

extension JSONStorage {
    func hasString(at index: Int, equalTo expected: UnsafeBufferPointer<UInt8>) -> Bool {
        let node = nodes[index]
        guard !node.hasEscapes else {
            guard !node.hasLoneSurrogate else { return false }
            let bytes = bytes
            return StringContent.equals(bytes.span, node.content, expected)
        }
        let content = node.content
        guard content.count == expected.count else { return false }
        return bytes.withUnsafeBufferPointer { bytes in
            let start = content.lowerBound
            for offset in expected.indices where bytes[start + offset] != expected[offset] { return false }
            return true
        }
    }

    /// A string's content with its escapes replaced.
    func decodedContent(at index: Int) -> [UInt8] {
        let bytes = bytes
        var decoded: [UInt8] = []
        StringContent.decode(bytes.span, nodes[index].content, into: &decoded)
        return decoded
    }
}
