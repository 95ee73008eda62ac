import JSON

/// What should be a compact JWS: a span of a body, or of the payload it stands in.
struct Token {
    let bytes: [UInt8]
    let range: Range<Int>

    init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        self.range = range
    }

    /// Nil for anything but a string; escapes in it are replaced.
    init?(_ value: JSONValue) {
        if let range = value.plainStringRange {
            self.init(value.documentBytes, range)
        } else if let decoded = value.stringBytes {
            self.init(decoded, decoded.indices)
        } else {
            return nil
        }
    }
}
