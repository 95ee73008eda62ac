import Foundation
import Testing

/// Maps the rules of verification to the tests and mutations that show them.
struct RuleTests {
    private static let sources = Result {
        try SourceTree.swiftFiles(below: ["Tests"]).flatMap(\.lines).joined(separator: "\n")
    }

    @Test func `every test that a rule names is there`() throws {
        let sources = try Self.sources.get()
        for rule in try Rule.all() {
            #expect(!rule.tests.isEmpty, "\(rule.place) has no test")
            for name in rule.tests { #expect(sources.contains("func `\(name)`"), "\(rule.place): \(name)") }
        }
    }

    @Test func `every mutation of the verifier breaks a rule, and every rule names known ones`() throws {
        let verifier = ["Sources/Rules/AppStore/", "Sources/Wrappers/OpenSSL/", "Sources/Rules/JSON/"]
        let mutations = try Mutation.all()
        let names = Set(mutations.map(\.name))
        // These read the heads that stages have written, or compare names; neither refuses a body.
        let ofOthers = [
            "Sources/Rules/JSON/JSONCursor.swift", "Sources/Rules/JSON/JSONParser+LastMember.swift",
            "Sources/Rules/AppStore/Payload/Identifier.swift",
        ]
        let ofVerifier = mutations.filter { mutation in
            verifier.contains(where: mutation.path.hasPrefix) && !ofOthers.contains(mutation.path)
        }
        let named = try Rule.all().flatMap(\.checks)
        #expect(ofVerifier.count > 150)
        #expect(Set(ofVerifier.map(\.name)).subtracting(named) == [], "no rule names them")
        #expect(Set(named).subtracting(names) == [], "no table has them")
        #expect(named.count == Set(named).count, "a mutation is named twice")
    }

    @Test func `every sentence of the verification document is a rule's`() throws {
        let places = Set(try Rule.all().map(\.place))
        let sentences = try RuleDocument.sentences()
        #expect(sentences.count > 90)
        #expect(sentences.filter { !places.contains($0) } == [], "no rule speaks of them")
        let strays = places.subtracting(sentences)
        #expect(strays == [], "the document has no such sentences")
    }
}
