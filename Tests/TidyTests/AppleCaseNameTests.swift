import Foundation
import TestSupport
import Testing

/// Every case of Apple's own suites, as the overview of them names it, has a test of that name.
@Suite(.needsSharedData)
struct AppleCaseNameTests {
    private static let sources = Result {
        try SourceTree.swiftFiles(below: ["Tests/AppStoreTests", "Tests/StagesTests"])
            .flatMap(\.lines).joined(separator: "\n")
    }

    /// The lines of one section of the overview.
    private static func section(_ number: String) throws -> [Substring] {
        let text = try String(
            contentsOf: SharedData.folder.appending(path: "APPLE.md"),
            encoding: .utf8
        )
        let lines = text.split(separator: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix("### \(number) ") })
        return Array(lines[(start + 1)...].prefix { !$0.hasPrefix("#") })
    }

    @Test(arguments: ["4.1", "4.2"])
    func `cases with a number and a name`(number: String) throws {
        let sources = try Self.sources.get()
        let rows = try Self.section(number).compactMap { line in
            line.firstMatch(of: /^\| ([CD]\d+) \| ([^|]*)\|/)
        }
        #expect(rows.count >= 10)
        for row in rows {
            let names = row.2.matches(of: /test[A-Z]\w+/)
            let name = names.first.map { "\(row.1) \($0.0)" } ?? "\(row.1) "
            let isThere = sources.contains(name)
            #expect(isThere, "\(name)")
        }
    }

    @Test(arguments: [("4.3", 4), ("4.4", 13), ("4.5", 3)])
    func `cases with a number`(number: String, count: Int) throws {
        let sources = try Self.sources.get()
        let text = try Self.section(number).joined(separator: " ")
        let cases = text.matches(of: /\b[XMR]\d+\b/).map { String($0.0) }
        #expect(Set(cases).count == count)
        for name in cases {
            let isThere = ["func `\(name) ", "\"\(name) "].contains { sources.contains($0) }
            #expect(isThere, "\(name)")
        }
    }

    @Test(arguments: [("4.6", "; ", 20), ("4.7", ", ", 18)])
    func `cases with a name`(number: String, separator: String, count: Int) throws {
        let sources = try Self.sources.get()
        let text = try Self.section(number).joined(separator: " ")
        let cases = text.trimmingSuffix(".").split(separator: separator)
        #expect(cases.count >= count)
        for name in cases {
            let isThere =
                sources.contains("\"\(name)\"")
                || sources.split(separator: "\n").contains { line in
                    line.contains("func `") && line.contains(name)
                }
            #expect(isThere, "\(name)")
        }
    }
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> Substring {
        hasSuffix(suffix) ? dropLast(suffix.count) : self[...]
    }
}
