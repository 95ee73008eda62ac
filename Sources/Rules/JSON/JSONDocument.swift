/// A parsed document: the original bytes, and where each value lies in them.
///
/// Values are spans into the bytes and are converted when asked for, so a number that no machine
/// type holds survives, and a value can be spliced elsewhere exactly as it was written.
package struct JSONDocument: Sendable {
    let storage: JSONStorage

    /// Reads one document in one pass, without recursion.
    ///
    /// - Throws: the first fault in the order of the bytes; a doubled key in an object of many
    ///   members is seen at the object's end.
    package init(parsing bytes: [UInt8], limits: JSONLimits = .standard, policy: JSONPolicy = .strict) throws(JSONError)
    {
        var parser = JSONParser(limits: limits, policy: policy)
        try parser.parse(bytes.span)
        storage = JSONStorage(bytes: bytes, nodes: parser.nodes)
    }

    /// Reads the members of an object that stand before this one, and looks at nothing after it.
    ///
    /// - Parameter member: its name, which is found only as `JSONWriter` writes it, with no space
    ///   before or after it, and where it is not the first. The root's `range` ends before its
    ///   comma; where it is not found, everything is read.
    /// - Throws: as for a whole document.
    package init(parsing bytes: [UInt8], upToMember member: StaticString, limits: JSONLimits = .standard)
        throws(JSONError)
    {
        var parser = JSONParser(limits: limits, policy: .strict, lastMember: member)
        try parser.parse(bytes.span)
        storage = JSONStorage(bytes: bytes, nodes: parser.nodes)
    }

    package var root: JSONValue { JSONValue(storage: storage, index: 0) }
}

/// The upper bounds of a document, so that hostile input costs a bounded amount of memory.
package struct JSONLimits: Sendable, Equatable {
    /// Maximum containers open at once.
    package var depthMax: Int
    /// Maximum values and keys of a document together.
    package var nodesMax: Int

    package init(depthMax: Int = 64, nodesMax: Int = 100_000) {
        precondition(depthMax >= 0 && nodesMax >= 0, "limits are counts")
        self.depthMax = depthMax
        self.nodesMax = nodesMax
    }

    package static let standard = JSONLimits()

    /// Limits of what we wrote or accepted ourselves: its bytes were bounded at the door.
    package static let accepted = JSONLimits(depthMax: .max, nodesMax: .max)
}

/// The kind of documents that are accepted, within the limits.
package enum JSONPolicy: Sendable {
    /// All that RFC 8259 calls JSON; a UTF-8 byte order mark before it is skipped.
    case grammar
    /// The grammar without what two readers could understand differently, or PostgreSQL could not
    /// hold: doubled keys, NUL and lone surrogates in strings, a byte order mark.
    case strict
}

/// The reason for which bytes are not an acceptable document, and the byte at which the fault was found.
///
/// Holds nothing of the document, so it may be logged.
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
    /// The beginning of the value's text; `end` is its end, and a string's quotes are part of it.
    var start: UInt32
    var end: UInt32
    /// The index of the node that follows this one and all it contains.
    var next: UInt32
    /// Members of an object, elements of an array.
    var count: UInt32
    var kind: JSONKind
    /// A string with at least one backslash.
    var hasEscapes: Bool
    /// A string that names half of a surrogate pair, which UTF-8 cannot represent.
    var hasLoneSurrogate: Bool
}

/// The storage that every value of a document refers to, so that a value retains one reference.
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
