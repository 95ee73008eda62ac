import Store
import Foundation
import Testing

@Suite final class MigrationFolderTests {
    private let root = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)

    deinit { try? FileManager.default.removeItem(at: root) }

    private func make(_ files: [String], in folder: String) throws -> String {
        let path = root.appending(path: folder)
        try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
        for file in files { try Data("SELECT 1".utf8).write(to: path.appending(path: file)) }
        return path.path
    }

    @Test func `files are read in the order of their numbers`() throws {
        let path = try make(["0002_b.sql", "0001_a_thing.sql", ".0003_c.sql"], in: "sql")
        let migrations = try MigrationFolder(path: path).migrations()
        #expect(migrations.map(\.version) == [1, 2])
        #expect(migrations.map(\.name) == ["a_thing", "b"])
        #expect(migrations.map(\.script) == ["SELECT 1", "SELECT 1"])
    }

    @Test(arguments: [["0001_a.sql", "0003_c.sql"], ["0002_b.sql"], ["0001_a.sql", "0001_b.sql"]])
    func `a gap or a double number is refused`(files: [String]) throws {
        let path = try make(files, in: "sql")
        let error = #expect(throws: MigrationError.self) { try MigrationFolder(path: path).migrations() }
        #expect(error?.code == .versionMissing)
    }

    @Test(arguments: ["1_a.sql", "0001-a.sql", "0001_.sql", "0001_a.txt", "readme"])
    func `a file that is not a migration is refused by name`(file: String) throws {
        let path = try make([file], in: "sql")
        let error = #expect(throws: MigrationError.self) { try MigrationFolder(path: path).migrations() }
        #expect(error?.code == .fileMisnamed)
        #expect(error?.message.contains(file) == true)
    }

    @Test(arguments: ["schemas/postgres", "share/entitlement-pipeline/schemas/postgres"])
    func `the folder is found above the executable`(place: String) throws {
        let path = try make([], in: place)
        let found = try MigrationFolder.find(
            environment: [:], executable: root.appending(path: ".build/release/pipeline").path)
        #expect(found.path == path)
    }

    @Test func `SCHEMAS_DIR, if set, is the only path searched`() throws {
        _ = try make([], in: "schemas/postgres")
        let elsewhere = try make([], in: "elsewhere/postgres")
        let executable = root.appending(path: "bin/pipeline").path
        let found = try MigrationFolder.find(
            environment: ["SCHEMAS_DIR": root.appending(path: "elsewhere").path], executable: executable)
        #expect(found.path == elsewhere)
        let error = #expect(throws: MigrationError.self) {
            try MigrationFolder.find(
                environment: ["SCHEMAS_DIR": root.appending(path: "nowhere").path], executable: executable)
        }
        #expect(error?.code == .folderNotFound)
    }

    @Test func `a missing folder is an error that names the setting`() {
        let error = #expect(throws: MigrationError.self) {
            try MigrationFolder.find(environment: [:], executable: "/nowhere/bin/pipeline")
        }
        #expect(error?.message.contains("SCHEMAS_DIR") == true)
    }
}
