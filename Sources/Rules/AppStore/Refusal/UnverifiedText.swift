/// Text of a refused record that is shown to people, or searched, before anybody asks to reveal the
/// record.
package enum UnverifiedText {
    /// Maximum bytes; no identifier is longer.
    package static let bytesMax = 128
    /// The digits of a digest in hexadecimal; tokens, keys and receipts are longer.
    private static let runMax = 64
    /// Values with blanks, as Apple writes them.
    private static let phrases = ["Auto-Renewable Subscription", "Non-Renewing Subscription"].map { Array($0.utf8) }

    /// Whether text has the form of an identifier, a date, a version or an enumeration's value.
    ///
    /// An allow list of forms: no sentence, no personal address, no token and no key has one.
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
