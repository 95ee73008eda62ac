import Foundation
import TestSupport
import Testing

/// The formats that people write, as `schemas/` describes them.
struct SchemaTests {
    @Test func `every scenario conforms to its schema`() throws {
        let files = Scenario.names.map { Scenario.folder.path + "/\($0).json" }
        let result = try Self.validate("scenario", files)
        #expect(result.isSuccess, "\(result.text)")
    }

    @Test func `the catalogs that scenarios share conform to their schema`() throws {
        let catalogs = Scenario.folder.appending(path: "catalogs")
        let files = try FileManager.default.contentsOfDirectory(at: catalogs, includingPropertiesForKeys: nil)
        let result = try Self.validate("catalog", files.map(\.path))
        #expect(result.isSuccess, "\(result.text)")
    }

    @Test func `a scenario without its expected result is refused`() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data(#"{"about":"nothing happens","events":[]}"#.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(!(try Self.validate("scenario", [file.path]).isSuccess))
    }

    private static func validate(_ schema: String, _ files: [String]) throws -> ProgramRun {
        let folder = ReferenceScript.root.appending(path: "schemas").path
        return try ReferenceScript("validate_files.py").run([folder, schema] + files)
    }
}
