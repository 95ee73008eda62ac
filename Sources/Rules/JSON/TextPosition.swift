/// A position in a text as editors show it: line and column from 1, with one column per Unicode scalar.
package struct TextPosition: Hashable, Sendable, CustomStringConvertible {
    package let line: Int
    package let column: Int

    package var description: String { "line \(line), column \(column)" }

    /// Finds the positions of byte offsets in a UTF-8 text, in one pass; the results have the order of the offsets.
    package static func positions(of offsets: [Int], in bytes: [UInt8]) -> [TextPosition] {
        var positions = offsets.map { _ in TextPosition(line: 1, column: 1) }
        var (byteIndex, line, column) = (0, 1, 1)
        for index in offsets.indices.sorted(by: { offsets[$0] < offsets[$1] }) {
            while byteIndex < min(offsets[index], bytes.count) {
                switch bytes[byteIndex] {
                case UInt8(ascii: "\n"): (line, column) = (line + 1, 1)
                // UTF-8 continuation bytes: their scalar was counted at its first byte.
                case 0x80...0xBF: break
                default: column += 1
                }
                byteIndex += 1
            }
            positions[index] = TextPosition(line: line, column: column)
        }
        return positions
    }
}

extension JSONError {
    /// A text with the position of the fault, and what the grammar expects there.
    ///
    /// - Parameter bytes: the parsed document.
    package func explanation(in bytes: [UInt8]) -> String {
        let position = TextPosition.positions(of: [offset], in: bytes)[0]
        return "\(position): not JSON, expected \(code.expected)"
    }
}

extension JSONError.Code {
    fileprivate var expected: String {
        switch self {
        case .notUTF8: "text in UTF-8"
        case .byteOrderMark: "no byte order mark"
        case .unexpectedByte: "a value, a key in quotation marks, a colon, a comma or a bracket"
        case .unexpectedEnd: "more text: it ends within a value"
        case .trailingBytes: "nothing after the end of the document"
        case .numberMalformed: "a number such as 12, -0.5 or 1e3"
        case .escapeMalformed: "an escape such as \\n, \\\" or \\u00e9"
        case .controlCharacter: "no control character in a string; a line break is \\n"
        case .nulInString: "no NUL in a string"
        case .loneSurrogate: "both halves of a surrogate pair"
        case .duplicateKey: "each key of an object once"
        case .depthExceeded: "less deeply nested brackets"
        case .nodesExceeded: "fewer values"
        case .bytesExceeded: "fewer bytes"
        }
    }
}
