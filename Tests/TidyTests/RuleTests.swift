import Foundation
import Testing

/// The map from the rules of verification to the tests and mutations that show them.
struct RuleTests {
    private static let sources = Result {
        try SourceTree.swiftFiles(below: ["Tests"]).flatMap(\.lines).joined(separator: "\n")
    }

    @Test func `every test that a rule names is there`() throws {
        let sources = try Self.sources.get()
        for rule in Rule.all {
            #expect(!rule.tests.isEmpty, "\(rule.place) has no test")
            for name in rule.tests {
                #expect(sources.contains("func `\(name)`"), "\(rule.place): \(name)")
            }
        }
    }

    @Test func `every check that can be taken out is a rule's, and no other is named`() throws {
        let file = try #require(
            try SourceTree.swiftFiles(below: ["Sources/OpenSSL"])
                .first { $0.path.hasSuffix("/PolicyCheck.swift") }
        )
        let checks = file.lines.filter { $0.hasPrefix("    case ") }.flatMap { line in
            line.dropFirst(9).split(separator: ",").map { $0.trimmingPrefix(" ") }.map(String.init)
        }
        let named = Rule.all.flatMap(\.checks)
        #expect(checks.count > 80)
        #expect(Set(checks).subtracting(named) == [], "no rule names them")
        #expect(Set(named).subtracting(checks) == [], "they are no checks")
        #expect(named.count == Set(named).count, "a check is named twice")
        let used = try SourceTree.swiftFiles(below: ["Sources"]).flatMap(\.lines)
            .joined(separator: "\n")
        for check in checks {
            let isUsed =
                used.contains("PolicyCheck.\(check).isLeftOut") || used.contains(", .\(check))")
            #expect(isUsed, "\(check) is left out nowhere")
        }
    }

    @Test func `every sentence of the verification document is a rule's`() throws {
        let places = Set(Rule.all.map(\.place))
        let sentences = try RuleDocument.sentences()
        #expect(sentences.count > 90)
        #expect(sentences.filter { !places.contains($0) } == [], "no rule speaks of them")
        let strays = places.subtracting(sentences)
        #expect(strays == [], "the document has no such sentences")
    }
}
