import Foundation

/// Finds the sentences of `VERIFICATION.md`, whose text is not repeated here.
enum RuleDocument {
    static let path = "Sources/Rules/AppStore/VERIFICATION.md"

    /// The positions of all sentences: section, paragraph and sentence.
    static func sentences() throws -> [String] {
        let url = SourceTree.root.appending(path: path)
        return sentences(of: try String(contentsOf: url, encoding: .utf8))
    }

    /// A paragraph is an item of a list, or lines up to an empty one; the text before the first
    /// section introduces the document.
    static func sentences(of text: String) -> [String] {
        text.components(separatedBy: "\n## ").dropFirst().flatMap { section -> [String] in
            let lines = section.split(separator: "\n", omittingEmptySubsequences: false)
            let name = lines[0].split(separator: " (")[0]
            return paragraphs(in: lines.dropFirst()).enumerated().flatMap { index, paragraph in
                (1...count(in: paragraph)).map { "\(name) \(index + 1).\($0)" }
            }
        }
    }

    private static func paragraphs(in lines: ArraySlice<Substring>) -> [String] {
        var paragraphs: [String] = []
        var isOpen = false
        for line in lines {
            let text = String(line.trimmingPrefix(#/\s*(- |\d+\. )?/#))
            let isItem = line.starts(with: #/- |\d+\. /#)
            if text.isEmpty {
                isOpen = false
            } else if isOpen && !isItem {
                paragraphs[paragraphs.count - 1] += " " + text
            } else {
                paragraphs.append(text)
                isOpen = true
            }
        }
        return paragraphs
    }

    /// A sentence ends with a full stop before a blank and a character that can begin another.
    private static func count(in paragraph: String) -> Int { 1 + paragraph.matches(of: #/\. [A-Z`(]/#).count }
}
