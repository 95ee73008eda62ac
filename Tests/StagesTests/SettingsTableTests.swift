import DedupeStage
import EntitleStage
import Foundation
import LinkStage
import Settings
import Testing
import VerifyStage
import Worker

/// The README's table of settings is the one that the declarations give.
@Suite struct SettingsTableTests {
    private static let programs: [WorkerProgram] = [.verify, .dedupe, .link, .entitle]

    /// Each setting once, in the order of the stages.
    private static var table: String {
        var names: Set<String> = []
        let declarations = programs.flatMap(\.schema.declarations).filter {
            names.insert($0.name).inserted
        }
        return SettingsSchema(declarations).markdownTable
    }

    @Test func `the README's table of settings is true`() throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "README.md")
        let readme = try String(contentsOf: path, encoding: .utf8)
        #expect(readme.contains(Self.table), "the table has to be:\n\(Self.table)")
    }
}
