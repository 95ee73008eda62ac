import Foundation
import Testing

/// The number of tokens that each target may have, by `Tests/Kit/ceilings.json`.
///
/// A change that needs more raises its line in the same commit and says why, or deletes as much elsewhere.
@Suite struct CeilingTests {
    @Test func `each target has at most the tokens of its ceiling`() throws {
        let file = SourceTree.root.appending(path: "Tests/Kit/ceilings.json")
        let ceilings = try JSONDecoder().decode([String: Int].self, from: Data(contentsOf: file))
        let targets = try Manifest.targets.get()
        #expect(Set(ceilings.keys) == Set(targets.keys))
        for (name, target) in targets.sorted(by: { $0.key < $1.key }) {
            let count = try Self.tokens(below: target.folder)
            #expect(count > 0 && count <= ceilings[name] ?? 0, "\"\(name)\": \(count)")
        }
    }

    /// Counts the tokens of all lines that are no comments.
    private static func tokens(below folder: String) throws -> Int {
        let token = try NSRegularExpression(pattern: #"\w+|[^\w\s]"#)
        let lines = TidyTests.everything.filter { $0.path.hasPrefix(folder + "/") }.flatMap(\.lines)
        let code = lines.filter { !$0.drop { $0 == " " }.hasPrefix("//") }.joined(separator: "\n")
        return token.numberOfMatches(in: code, range: NSRange(location: 0, length: code.utf16.count))
    }
}
