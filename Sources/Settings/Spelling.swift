/// Finds what somebody may have meant.
enum Spelling {
    /// The nearest of the known words, where one is near enough to be a slip.
    static func suggestion(for word: String, among known: some Sequence<String>) -> String? {
        let slipsMax = max(1, word.count / 4)
        let nearest = known.map { (slips: distance(word, $0), word: $0) }
            .min { ($0.slips, $0.word) < ($1.slips, $1.word) }
        guard let nearest, nearest.slips <= slipsMax else { return nil }
        return nearest.word
    }

    /// ", did you mean …?" or nothing.
    static func hint(for word: String, among known: some Sequence<String>) -> String {
        suggestion(for: word, among: known).map { ", did you mean \($0)?" } ?? ""
    }

    /// Levenshtein's distance, without regard to case.
    private static func distance(_ first: String, _ second: String) -> Int {
        let first = Array(first.lowercased().utf8)
        let second = Array(second.lowercased().utf8)
        var row = Array(0...second.count)
        for (i, a) in first.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, b) in second.enumerated() {
                let above = row[j + 1]
                row[j + 1] = min(above + 1, row[j] + 1, diagonal + (a == b ? 0 : 1))
                diagonal = above
            }
        }
        return row[second.count]
    }
}
