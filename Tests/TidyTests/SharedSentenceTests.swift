import Foundation
import Testing

/// Rules that several pages state for their readers stand there in the same words.
struct SharedSentenceTests {
    private static let unknownType = """
        What Apple signs with an unknown type has the type that the catalog gives its product; \
        without one it holds as a subscription does, grace included, if it has an end, and grants \
        nothing without an end.
        """

    @Test(arguments: [
        "Sources/Rules/Entitlements/RULES.md", "Sources/Rules/AppStore/VERIFICATION.md", "deploy/runbook.md",
        "Tests/Reference/entitlements/projection.py", "Sources/Rules/Entitlements/Catalog/Catalog.swift",
    ]) func `what an unknown product type grants is one sentence`(path: String) throws {
        let text = try String(contentsOf: SourceTree.root.appending(path: path), encoding: .utf8).replacing(
            "///", with: " ")
        let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains(Self.unknownType), "\(path)")
    }
}
