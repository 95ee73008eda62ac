import Foundation
import Testing

/// Plain English in comments, messages, test names and documents.
@Suite struct EnglishTests {
    /// Brackets keep the rule from finding itself.
    private static let archaic = """
        \\b([a]new|(is|are) [n]one|be (it|they)|[w]ho(m|mever|ever)|for [w]hose sake|for [e]ver\
        |went [e]lsewhere|[m]eanwhile)\\b
        """

    /// Words before which a doc comment lacks its noun, or its verb in the third person.
    private static let openers: Set<Substring> = [
        "After", "Again", "Also", "As", "At", "Because", "Before", "By", "For", "From", "How", "If", "In", "Instead",
        "More", "Never", "Nil", "Not", "On", "One", "Since", "So", "To", "Until", "When", "Where", "Which", "While",
        "Why", "With", "Without",
    ]

    @Test func `a doc comment begins with what it is about`() {
        #expect(TidyTests.everything.count > 300)
        for file in TidyTests.everything {
            var isInComment = false
            for (number, line) in file.lines.enumerated() {
                let words = line.split(separator: " ", maxSplits: 2)
                let isComment = words.first == "///"
                if isComment, !isInComment, words.count > 1 {
                    #expect(!Self.openers.contains(words[1]), "\(file.path):\(number + 1): \(line)")
                }
                isInComment = isComment
            }
        }
    }

    @Test func `no comment opens with a headless clause, and no archaic word stands in the code`() throws {
        let opening = #/^\s*///? (What|Who|Whose|Those|That|Of|Has|Have) /#
        let archaic = try Regex(Self.archaic).ignoresCase()
        #expect(TidyTests.everything.count > 300)
        for file in TidyTests.everything {
            var isInParagraph = false
            for (number, line) in file.lines.enumerated() {
                let found = "\(file.path):\(number + 1): \(line)"
                #expect(isInParagraph || line.firstMatch(of: opening) == nil, "\(found)")
                #expect(line.firstMatch(of: archaic) == nil, "\(found)")
                let text = line.drop { $0 == " " }
                isInParagraph = text.hasPrefix("//") && !text.allSatisfy { $0 == "/" }
            }
        }
    }

    @Test(.needsRepository) func `no archaic word stands in a document, a schema or a migration`() throws {
        let archaic = try Regex(Self.archaic).ignoresCase()
        let endings = [".md", ".sql", ".json", ".yaml", ".sh"]
        let paths = try #require(SourceTree.tracked).filter { endings.contains(where: $0.hasSuffix) }
        #expect(paths.count > 100)
        for path in paths {
            let url = SourceTree.root.appending(path: path)
            let text = try String(contentsOf: url, encoding: .utf8)
            for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                #expect(line.firstMatch(of: archaic) == nil, "\(path):\(number + 1): \(line)")
            }
        }
    }
}
