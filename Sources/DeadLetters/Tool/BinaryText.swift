import Foundation
import Settings

/// Bytes as somebody can read or copy them.
enum BinaryText {
    /// A word for what `body` gives: `text`, `hex` or `base64`.
    static func form(_ bytes: [UInt8]) -> String {
        if Printable.text(bytes) != nil {
            return "text"
        }
        return bytes.count <= hexBytesMax ? "hex" : "base64"
    }

    /// Text as it is; a few bytes as hexadecimal digits; more as base64 in lines.
    static func body(_ bytes: [UInt8]) -> String {
        if let text = Printable.text(bytes) {
            return text
        }
        guard bytes.count > hexBytesMax else {
            return bytes.map { byte in
                (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }.joined(separator: " ")
        }
        return Data(bytes).base64EncodedString(options: [
            .lineLength76Characters, .endLineWithLineFeed,
        ])
    }

    /// The same without what could be used again; of bytes that are no text the beginning.
    static func redacted(_ bytes: [UInt8]) -> String {
        guard Printable.text(bytes) == nil else {
            return String(decoding: Redaction.text(bytes), as: UTF8.self)
        }
        let leftOut = bytes.count - hexBytesMax
        let rest = leftOut > 0 ? "\n[… \(leftOut) bytes left out …]" : ""
        return body(Array(bytes.prefix(hexBytesMax))) + rest
    }

    private static let hexBytesMax = 64
}
