package import AppStore

/// A person's statement about the results of the offsets before a tally.
///
/// The statement belongs to the tally: both are committed together, and a tally that restarts has no statement.
package struct AccountStatement: Hashable, Sendable {
    package let at: Timestamp
    package let by: String
    package let reason: String

    package static let byBytesMax = 64
    package static let reasonBytesMax = 256

    /// Makes a statement.
    ///
    /// `nil` for a name or a reason that is empty, too long, or contains control characters.
    package init?(at: Timestamp, by: String, reason: String) {
        guard (1...Self.byBytesMax).contains(by.utf8.count), (1...Self.reasonBytesMax).contains(reason.utf8.count),
            (by + reason).unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else { return nil }
        (self.at, self.by, self.reason) = (at, by, reason)
    }

    /// Reads the format of `word`.
    init?(word: Substring) {
        let digits = Array(word.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap { index in
            UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16)
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).map(
            String.init)
        guard bytes.count * 2 == digits.count, lines.count == 3, let time = Int64(lines[0]),
            let at = Timestamp(boundedMilliseconds: time)
        else { return nil }
        self.init(at: at, by: lines[1], reason: lines[2])
    }

    /// The statement as one word of the commit metadata: three lines in hexadecimal digits.
    var word: String {
        "\(at.milliseconds)\n\(by)\n\(reason)".utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
