/// Text of a refused record that is shown or searched before a person requests to reveal the record.
package enum UnverifiedText {
    /// Maximum bytes; no identifier is longer.
    package static let bytesMax = 128
    /// Maximum characters without a break: a digest's hexadecimal digits; tokens, keys and receipts have more.
    private static let runMax = 64
    /// Values with spaces, as Apple writes them.
    private static let phrases = ["Auto-Renewable Subscription", "Non-Renewing Subscription"].map { Array($0.utf8) }

    /// Whether a text has the form of an identifier, a date, a version or an enumeration's value.
    ///
    /// The function has a list of allowed forms, which no sentence, personal address, token or key matches.
    package static func isHarmless(_ text: some Collection<UInt8>) -> Bool {
        guard text.count <= bytesMax, !text.starts(with: "eyJ".utf8) else { return false }
        var run = 0
        for byte in text {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"),
                UInt8(ascii: "+"):
                run += 1
                guard run <= runMax else { return false }
            case UInt8(ascii: "."), UInt8(ascii: ":"): run = 0
            default: return phrases.contains { $0.elementsEqual(text) }
            }
        }
        return true
    }
}
