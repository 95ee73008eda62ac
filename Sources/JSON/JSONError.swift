/// Why bytes are not an acceptable document, and at which byte that was seen.
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

    package init(code: Code, offset: Int) {
        self.code = code
        self.offset = offset
    }
}

extension JSONError: CustomStringConvertible {
    package var description: String { "\(code.rawValue) at byte \(offset)" }
}
