import Foundation
import Settings
import Testing

@Suite struct ExitCodeTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test func `the table has each code once, and the document is that table`() throws {
        let declared = try Self.text("Sources/Pipeline/Settings/ExitCode.swift").matches(
            of: /static let \w+: Int32 = (\d+)/
        ).compactMap { Int32($0.1) }
        #expect(ExitCode.meanings.map(\.code) == declared)
        let rows = ExitCode.meanings.map { "| \($0.code) | \($0.meaning) |\n" }.joined()
        let table = "| Code | Meaning |\n|---|---|\n\(rows)\n"
        #expect(try Self.text("deploy/SETTINGS.md").contains(table), "expected\n\(table)")
    }

    /// A number in another place is one that the table does not explain.
    @Test func `no program ends with a number of its own`() throws {
        let files = FileManager.default.enumerator(
            at: Self.root.appending(path: "Sources"), includingPropertiesForKeys: nil)
        let sources = try #require(files).compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
        #expect(sources.count > 300)
        for source in sources {
            let text = try String(contentsOf: source, encoding: .utf8)
            let found = text.firstMatch(of: /(?:exitCode: |CommandError\(|[ _.]exit\()\d+/)
            #expect(found == nil, "\(source.lastPathComponent): \(found?.output ?? "")")
        }
    }
}
