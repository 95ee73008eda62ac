/// Formats and parses numbers with units; formatted text parses to the same value.
enum UnitText {
    private static let byteUnits: [(name: String, bytes: Int)] = [
        ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1),
    ]

    private static let timeUnits: [(name: String, milliseconds: Int)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    /// Parses ASCII digits with an optional minus; no plus sign, spaces or other numerals.
    static func integer(_ text: String) -> Int? {
        let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }

    static func bytes(_ value: Int) -> String {
        let unit = byteUnits.first { value >= $0.bytes && value % $0.bytes == 0 }
        return "\(value / (unit?.bytes ?? 1))\(unit?.name ?? "B")"
    }

    static func bytes(parsing text: String) -> Int? { parse(text, units: byteUnits.map { ($0.name, $0.bytes) }) }

    static func duration(_ value: Duration) -> String {
        let milliseconds = Int(value / .milliseconds(1))
        let unit = timeUnits.first { milliseconds >= $0.milliseconds && milliseconds % $0.milliseconds == 0 }
        return "\(milliseconds / (unit?.milliseconds ?? 1))\(unit?.name ?? "ms")"
    }

    static func duration(parsing text: String) -> Duration? {
        parse(text, units: timeUnits.map { ($0.name, $0.milliseconds) }).map { .milliseconds($0) }
    }

    private static func parse(_ text: String, units: [(String, Int)]) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let name = text.dropFirst(digits.count)
        guard let count = integer(String(digits)), let unit = units.first(where: { $0.0 == name }) else { return nil }
        let (product, overflow) = count.multipliedReportingOverflow(by: unit.1)
        return overflow ? nil : product
    }
}

/// Finds the name that the operator may have meant.
package enum Spelling {
    /// Returns the nearest known word, if it is near enough to have been misspelt.
    static func suggestion(for word: String, among known: some Sequence<String>) -> String? {
        guard let nearest = nearest(to: word, among: known).first, distance(word, nearest) <= max(1, word.count / 4)
        else { return nil }
        return nearest
    }

    /// Returns all known words, the nearest first.
    package static func nearest(to word: String, among known: some Sequence<String>) -> [String] {
        known.map { (slips: distance(word, $0), word: $0) }.sorted { ($0.slips, $0.word) < ($1.slips, $1.word) }.map(
            \.word)
    }

    /// Returns ", did you mean …?", or an empty text.
    package static func hint(for word: String, among known: some Sequence<String>) -> String {
        suggestion(for: word, among: known).map { ", did you mean \($0)?" } ?? ""
    }

    /// The Levenshtein distance without regard to case; a swap of two neighbours counts as one edit.
    private static func distance(_ first: String, _ second: String) -> Int {
        let first = Array(first.lowercased().utf8)
        let second = Array(second.lowercased().utf8)
        var former: [Int] = []
        var row = Array(0...second.count)
        for (i, a) in first.enumerated() {
            var next = [i + 1]
            for (j, b) in second.enumerated() {
                var slips = min(row[j + 1] + 1, next[j] + 1, row[j] + (a == b ? 0 : 1))
                if i > 0, j > 0, a == second[j - 1], first[i - 1] == b { slips = min(slips, former[j - 1] + 1) }
                next.append(slips)
            }
            (former, row) = (row, next)
        }
        return row[second.count]
    }
}
