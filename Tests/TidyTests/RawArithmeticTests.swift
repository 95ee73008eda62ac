import Foundation
import Testing

/// The arithmetic on numbers that come from a broker, a database, a header, a file or a body.
///
/// They are read within bounds (`KafkaBounds`, `Timestamp`, `CommitMetadata`, `HeadMembers`), and
/// ages are computed by `WallClock.age`. `arithmetic.txt` lists every other sum, difference and
/// product: an overflow ends the process, and stops its partition.
@Suite struct RawArithmeticTests {
    /// Members that hold such numbers.
    private static let names = [
        "offset", "nextOffset", "sourceOffset", "letterOffset", "high", "low", "began", "counted", "forwarded",
        "committed", "settled", "milliseconds", "timestampMilliseconds", "writtenAt", "timestamp", "partition",
        "attempt",
    ]

    /// Targets whose numbers are their own, or indexes into bytes that they hold.
    private static let exempt = [
        "Tests/Kit/", "Sources/Tools/Demonstration/", "Sources/Rules/JSON/", "Sources/Wrappers/OpenSSL/",
    ]

    /// Number of lines that calculate with such numbers, by file.
    private static func known() throws -> [String: Int] {
        let file = SourceTree.root.appending(path: "Tests/TidyTests/arithmetic.txt")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("#") }
        let rows = lines.map { $0.split(separator: " ", maxSplits: 2) }
        return Dictionary(uniqueKeysWithValues: rows.map { (String($0[0]), Int($0[1]) ?? 0) })
    }

    @Test func `arithmetic on numbers from outside is listed, with the reason why it is safe`() throws {
        let list = Self.names.joined(separator: "|")
        let pattern = try NSRegularExpression(
            pattern: #"(\.|(?<![\w.])(?=offset\b))(\#(list))[)?]* [-+*]=? "#
                + #"| [-+*] \(*[\w$.\[\]?]*\.(\#(list))\b(?!\()"#)
        var found: [String: [String]] = [:]
        for file in TidyTests.sources where !Self.exempt.contains(where: file.path.hasPrefix) {
            for (number, line) in file.lines.enumerated() {
                let code = line.drop { $0 == " " }
                guard !code.hasPrefix("//") else { continue }
                let text = String(code)
                let range = NSRange(text.startIndex..., in: text)
                guard pattern.firstMatch(in: text, range: range) != nil else { continue }
                found[file.path, default: []].append("\(number + 1): \(text)")
            }
        }
        let known = try Self.known()
        for (path, lines) in found.sorted(by: { $0.key < $1.key }) {
            #expect(
                lines.count == known[path],
                "\(path): read these numbers within bounds, then list it in arithmetic.txt\n\(lines.joined())")
        }
        #expect(Set(known.keys).subtracting(found.keys).isEmpty)
    }
}
