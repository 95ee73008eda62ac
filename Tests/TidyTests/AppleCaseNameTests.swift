import Foundation
import Testing

/// The cases of the suites that Apple publishes with its server libraries.
struct AppleCaseNameTests {
    @Test func `each case of those suites has a test`() throws {
        let file = SourceTree.root.appending(path: "Tests/TidyTests/cases.txt")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("#") }
        let files = try SourceTree.swiftFiles(below: ["Tests/AppStoreTests"])
        let sources = files.flatMap(\.lines).joined(separator: "\n")
        #expect(lines.count > 80)
        for line in lines {
            let name = line.split(separator: ": ").last ?? line
            // A test's name, its beginning, or the row of a table.
            let forms = ["`\(name)`", "`\(name) ", "`\(name):", "\"\(name) ", "\"\(name)\""]
            #expect(forms.contains { sources.contains($0) }, "\(line)")
        }
    }
}
