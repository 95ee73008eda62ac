import AppStore
import Entitlements
import Foundation
import JSON
import Operations
import Postgres
import Records
import TestSupport
import Testing

/// The output of `pipeline whats-stored` about history in files, and `forget` after it.
@Suite(.timeLimit(.minutes(10))) struct ArchiveSearchTests {
    private static let anna = "7e3fb204-2ae7-4f0d-9f2d-0123456789ab"

    /// The history of two users' purchases, bought with a token and without, all of it archived.
    private static func rig() async throws -> HistoryRig {
        let rig = try await HistoryRig()
        try await rig.worker.own([
            Signed.key("1"): Ownership(userID: Identifier(anna), rule: .accountToken),
            Signed.key("2"): Ownership(userID: "bob", rule: .accountToken),
        ])
        for (id, token) in [("1", anna.uppercased()), ("2", "")] {
            for signed in 1...3 as ClosedRange<Int64> {
                _ = try await rig.worker.process([
                    Signed.transaction(
                        id,
                        signed: signed,
                        revoked: signed == 2 ? 5 : nil,
                        token: token.isEmpty ? nil : token
                    )
                ])
            }
        }
        _ = try await rig.worker.client.query("DELETE FROM unpublished_changes")
        try await rig.age(days: 500)
        _ = try await rig.archive()
        return rig
    }

    @Test func `each archive says how many of its rows are about the user`() async throws {
        let rig = try await Self.rig()
        #expect(try await rig.archived(Self.anna) == ["revisions": 1, "changes": 2])
        #expect(try await rig.archived("bob") == ["revisions": 1, "changes": 2])
        #expect(try await rig.archived("nobody-known") == ["revisions": 0, "changes": 0])
        let text = await rig.run("whats-stored", Self.anna).output
        let line = try [rig.file("changes"), "changes", "2"]
        let lines = text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(lines.contains(line), "\(text)")
        #expect(text.contains("'forget' changes no file"))
    }

    @Test func `a token is found for a purchase that is gone, in any letter case`() async throws {
        let rig = try await Self.rig()
        _ = try await rig.worker.client.query("TRUNCATE entitlements, changes, owners CASCADE")
        #expect(try await rig.archived(Self.anna) == ["revisions": 1, "changes": 2])
        #expect(try await rig.archived("bob") == ["revisions": 0, "changes": 2])
        // A link is one more name of the user, in its environment and bundle alone.
        let link = "INSERT INTO account_links (kind, key, user_id, bundle_id) VALUES "
        _ = try await rig.worker.client.query(
            link + "('original_transaction_id', '2', 'carl', 'com.example.other')"
        )
        #expect(try await rig.archived("carl") == ["revisions": 0, "changes": 0])
        _ = try await rig.worker.client.query(
            link + "('original_transaction_id', '2', 'dora', '\(Signed.bundleID)')"
        )
        #expect(try await rig.archived("dora") == ["revisions": 1, "changes": 0])
    }

    @Test func `files in another folder are named, and found in the given folder`() async throws {
        let rig = try await Self.rig()
        let elsewhere = rig.folder + "-moved"
        try FileManager.default.moveItem(atPath: rig.folder, toPath: elsewhere)
        defer { try? FileManager.default.removeItem(atPath: elsewhere) }
        #expect(try await rig.archived(Self.anna) == ["revisions": nil, "changes": nil])
        let text = await rig.run("whats-stored", Self.anna).output
        #expect(text.contains("not looked into: there is no such file here"))
        #expect(text.contains("--archives FOLDER"))

        let found = try await rig.archived(Self.anna, "--archives", elsewhere)
        #expect(found == ["revisions": 1, "changes": 2])
        // The database does not know these archives, and one file is not an archive.
        _ = try await rig.worker.client.query("DELETE FROM history_archives")
        try "[]\n".write(toFile: elsewhere + "/note", atomically: true, encoding: .utf8)
        let unknown = try await rig.archived(Self.anna, "--archives", elsewhere)
        #expect(unknown == ["revisions": 1, "changes": 2])
        #expect(await rig.run("whats-stored", Self.anna, "--archives", "/nowhere").code == 66)
    }

    @Test func `a damaged, short or foreign file does not count as complete`() async throws {
        let rig = try await Self.rig()
        let path = try rig.file("changes")
        let whole = try String(contentsOfFile: path, encoding: .utf8)
        let lines = whole.split(separator: "\n")
        let cases: [(lines: [Substring], remark: String, rows: Int64?)] = [
            (lines.dropLast(2), "holds 2 of its 4 rows", nil),
            (lines.prefix(1) + [lines[1].dropLast(4)] + lines.dropFirst(2), "line 2 cannot", nil),
            (lines + [#"{"user_id":"x"}"#, "[", "\0"], "line 7 cannot be read", 2),
            (lines + [#"{"user_id":7}"#], "line 6 cannot be read", 2),
            (Array(lines.dropFirst()), "the file is not this archive", nil),
            ([], "the file is not this archive", nil),
        ]
        for (lines, remark, rows) in cases {
            try lines.joined(separator: "\n").write(
                toFile: path,
                atomically: false,
                encoding: .utf8
            )
            let end = await rig.run("whats-stored", Self.anna)
            #expect(end.code == 0)
            #expect(end.output.contains(remark), "\(end.output)")
            if let rows {
                #expect(try await rig.archived(Self.anna)["changes"] == rows)
            }
        }
        let revisions = try rig.file("revisions")
        try String(contentsOfFile: revisions, encoding: .utf8)
            .replacing(#""payload" : "{"#, with: #""payload" : "["#)
            .write(toFile: revisions, atomically: false, encoding: .utf8)
        let broken = await rig.run("whats-stored", Self.anna)
        #expect(broken.output.contains("line 2 cannot be read"), "\(broken.output)")

        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let rows = try await rig.archived(Self.anna)
        #expect(rows["changes"] == .some(nil))
    }

    @Test func `forget says that archives are not changed`() async throws {
        let rig = try await Self.rig()
        let files = try ["changes", "revisions"].map { try rig.file($0) }
        let before = try files.map { try String(contentsOfFile: $0, encoding: .utf8) }
        let text = await rig.run("forget", Self.anna, "--by", "dpo", "--reason", "request 7")
        #expect(text.code == 0, "\(text.notes)")
        #expect(text.notes.contains("2 archives of history may name the user and are not changed"))
        let json = await rig.run("forget", "bob", "--by", "dpo", "--reason", "8", "--json")
        #expect(json.output.contains(#""unchanged_archives":2}"#))
        #expect(try files.map { try String(contentsOfFile: $0, encoding: .utf8) } == before)
        #expect(try await rig.archived(Self.anna) == ["revisions": 1, "changes": 2])
    }
}

extension HistoryRig {
    /// By table, how many rows of its archive are about a user; nil if it was not read.
    func archived(_ user: String, _ options: String...) async throws -> [String: Int64?] {
        let end = await PipelineTool.run(["whats-stored", user, "--json"] + options, on: url)
        #expect(end.code == 0, "\(end.notes)")
        let root = try JSONDocument(parsing: Array(end.output.utf8)).root
        var rows: [String: Int64?] = [:]
        for archive in try #require(root["archives"]).elements {
            let table = try #require(archive["table"]?.string)
            let count = archive["rows"]?.int64
            #expect((archive["is_searched"]?.bool == true) == (count != nil))
            rows.updateValue(count, forKey: table)
        }
        return rows
    }

    func file(_ table: String) throws -> String {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        return try "\(folder)/" + #require(names.first { $0.hasPrefix(table) })
    }
}
