/// A short text without control characters, which a client sets and the pipeline forwards.
package enum ShortText {
    package static let bytesMax = 255

    /// Whether the text has at most 255 bytes and no control character (U+0000 to U+001F, U+007F to U+009F).
    package static func isAcceptable(_ bytes: [UInt8]) -> Bool {
        guard bytes.count <= bytesMax else { return false }
        var isAfterC2 = false
        for byte in bytes {
            if byte < 0x20 || byte == 0x7F || isAfterC2 && byte < 0xA0 { return false }
            isAfterC2 = byte == 0xC2
        }
        return true
    }
}
