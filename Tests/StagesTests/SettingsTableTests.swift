import DedupeStage
import EntitleStage
import Foundation
import IndexStage
import LinkStage
import RecoveryStage
import Settings
import Testing
import VerifyStage
import Worker

/// The documented table of settings equals the declarations; `deploy/README.md` has a part of it.
@Suite struct SettingsTableTests {
    private static let programs: [WorkerProgram] = [.verify, .dedupe, .link, .entitle, .recovery, .deadLetterIndex]

    /// Each setting once, in the order of the stages.
    private static var table: String {
        var names: Set<String> = []
        let declarations = programs.flatMap(\.schema.declarations).filter { names.insert($0.name).inserted }
        return SettingsSchema(declarations).markdownTable
    }

    @Test func `the table of settings is true`() throws {
        let text = try Self.text(of: "deploy/SETTINGS.md")
        #expect(text.contains(Self.table), "the table has to be:\n\(Self.table)")
    }

    /// A setting that two programs read must not make either refuse the rest of its section.
    @Test(arguments: programs) func `one file with all settings of all workers serves each`(program: WorkerProgram)
        throws
    { _ = try program.schema.read(environment: [:], file: try Self.sharedFile()) }

    @Test func `a mistyped setting is refused by the program that owns its section`() throws {
        let file = try Self.sharedFile(adding: ["linking.moed": "identity"])
        #expect(throws: SettingsError.self) { _ = try WorkerProgram.link.schema.read(environment: [:], file: file) }
        _ = try WorkerProgram.verify.schema.read(environment: [:], file: file)
    }

    /// A settings file with every default written out, and every required setting.
    private static func sharedFile(adding other: [String: Any] = [:]) throws -> SettingsFile {
        var members: [String: Any] = [
            "kafka.bootstrap": "localhost:9092", "database.url": "postgresql://localhost/entitlements",
            "apps": [["bundle_id": "com.example.app", "environment": "Sandbox"]],
        ]
        for declaration in programs.flatMap(\.schema.declarations) {
            guard case .defaulted(let text) = declaration.presence else { continue }
            members[declaration.name] =
                switch declaration.type {
                case "integer": Int(text)
                case "boolean": text == "true"
                default: text
                }
        }
        members.merge(other) { $1 }
        let bytes = try JSONSerialization.data(withJSONObject: members)
        return try SettingsFile(path: "settings.json", bytes: Array(bytes))
    }

    @Test(arguments: programs) func `help fits a terminal`(program: WorkerProgram) {
        #expect(program.schema.help.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    @Test func `the documented members of an apps entry are those that are read`() throws {
        let text = try Self.text(of: "deploy/SETTINGS.md")
        #expect(text.contains(AppSetting.markdown), "the section has to be:\n\(AppSetting.markdown)")
    }

    @Test func `the settings that operators look at first are in the table`() throws {
        let rows = try Self.text(of: "deploy/README.md").split(separator: "\n").drop {
            $0 != Self.table.prefix { $0 != "\n" }
        }.prefix { $0.hasPrefix("|") }
        #expect(rows.count > 2)
        let table = Set(Self.table.split(separator: "\n"))
        for row in rows { #expect(table.contains(row)) }
    }

    private static func text(of path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
}
