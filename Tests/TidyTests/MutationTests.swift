import Foundation
import Testing

/// The tables of `deploy/mutate.sh` fit the sources, which know nothing of them.
struct MutationTests {
    @Test func `each text that a mutation changes is found once`() throws {
        for mutation in try Mutation.all() {
            let url = SourceTree.root.appending(path: mutation.path)
            let source = Self.withoutWhitespace(try String(contentsOf: url, encoding: .utf8))
            #expect(!mutation.texts.isEmpty, "\(mutation.name) changes nothing")
            for text in mutation.texts {
                let count = source.ranges(of: Self.withoutWhitespace(text)).count
                #expect(count == 1, "\(mutation.name): found \(count) times: \(text)")
            }
        }
    }

    @Test func `no two mutations have one name, and each names tests that exist`() throws {
        let mutations = try Mutation.all()
        let names = mutations.map(\.name)
        #expect(Set(names).count == names.count)
        for mutation in mutations {
            #expect(!mutation.tests.isEmpty, "\(mutation.name) names no tests")
            for test in mutation.tests {
                let target = test.prefix { $0 != "." }
                let folder = SourceTree.root.appending(path: "Tests/\(target)").path
                #expect(FileManager.default.fileExists(atPath: folder), "\(test)")
            }
        }
    }

    @Test func `the verifier and the rules of entitlements have no switches for tests`() throws {
        let switches = /#if |getenv\(|\bdebugOnly|[mM]utat(ed|ion)\b|[lL]eftOut|[bB]enchmark|[fF]orTest/
        let folders = ["Sources/Rules", "Sources/Wrappers/OpenSSL"]
        for file in try SourceTree.swiftFiles(below: folders) {
            for (number, line) in file.lines.enumerated() where !line.contains("//") {
                let found = line.firstMatch(of: switches)
                #expect(found == nil, "\(file.path):\(number + 1): \(line)")
            }
        }
    }

    private static func withoutWhitespace(_ text: String) -> [UInt8] { text.utf8.filter { $0 != 0x20 && $0 != 0x0A } }
}
