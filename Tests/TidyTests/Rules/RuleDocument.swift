/// Finds the sentences of the verification document, whose text is not repeated here.
enum RuleDocument {
    /// The places of all sentences: section, paragraph and sentence.
    static func sentences(of text: String) -> [String] {
        var places: [String] = []
        var section: Substring?
        var paragraph = 0
        for line in text.split(separator: "\n") {
            if line.hasPrefix("## ") {
                section = line.dropFirst(3).split(separator: " (")[0]
                paragraph = 0
            } else if let section {
                paragraph += 1
                let count = count(in: line.trimmingPrefix(#/- |\d+\. /#))
                places += (1...count).map { "\(section) \(paragraph).\($0)" }
            }
        }
        return places
    }

    /// A sentence ends with a full stop before a blank and what can begin another.
    private static func count(in paragraph: Substring) -> Int {
        1 + paragraph.matches(of: #/\. [A-Z`(]/#).count
    }
}
