import DeadLetters
import Foundation
import Kafka
import Records
import TestSupport
import Testing

/// A dead letter with a redacted original.
@Suite(.timeLimit(.minutes(10))) struct RedactTests {
    private static let secret = "a body with a name in it"

    private static func rig() async throws -> (IndexRig, id: String, position: String) {
        let rig = try await IndexRig(partitions: 1)
        let letter = rig.writer().letter(
            for: Sample.original(offset: 7, value: Array(secret.utf8)), Sample.refusal, value: .original)
        try await rig.send([letter])
        try await rig.index()
        let header = letter.headers.first { $0.name == "dlq.id" }
        let id = String(decoding: try #require(header?.value ?? nil), as: UTF8.self)
        return (rig, id, "\(rig.topic.name)/0/0")
    }

    @Test func `the original is neither shown nor exported any more, and its position stays`() async throws {
        let (rig, id, position) = try await Self.rig()
        #expect(await rig.tool("show", id, "--reveal", "--why=case 7").result.contains(Self.secret))
        let run = await rig.tool("redact", id, "--why", "request 7", "--as", "dpo", "--json")
        #expect(run.exitCode == 0, "\(run.notes)")

        // Also before the index has followed, and for the earlier copy.
        for _ in 0..<2 {
            for wanted in [id, position] {
                let show = await rig.tool("show", wanted, "--reveal", "--why=case 7")
                #expect(!show.result.contains(Self.secret), "\(show.result)")
                let fromTopic = await rig.tool("show", wanted, "--reveal", "--why=case 7", "--from-topic")
                #expect(!fromTopic.result.contains(Self.secret))
                let original = await rig.tool("show", wanted, "--original", "--why=case 7")
                #expect(original.exitCode == 1)
                #expect(original.notes.contains("redacted"))
            }
            try await rig.index()
        }
        let history = await rig.tool("show", id)
        #expect(history.result.contains("dpo"))
        #expect(history.result.contains("request 7"))

        let folder = NSTemporaryDirectory() + "redacted-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let export = ["export", "--to", folder, "--with-originals", "--why=backup", "--json"]
        #expect(await rig.tool(export).exitCode == 0)
        let lines = try String(contentsOfFile: folder + "/dead-letters.ndjson", encoding: .utf8)
        #expect(!lines.contains(Data(Self.secret.utf8).base64EncodedString()))
        let offline = await ToolRun(["verify", "--offline", folder + "/manifest.json"])
        #expect(offline.exitCode == 0, "\(offline.notes)")
        let verify = await rig.tool("verify")
        #expect(verify.exitCode == 0, "\(verify.notes)")
        let again = await rig.tool("redact", id, "--why", "request 8", "--as", "dpo")
        #expect(again.exitCode == 0 && again.notes.contains("redacted before"))
    }

    @Test func `the auditor, the reason and a known letter are required`() async throws {
        let (rig, id, _) = try await Self.rig()
        #expect(await rig.tool("redact", id).exitCode == 64)
        #expect(await rig.tool("redact", id, "--why", "").exitCode == 64)
        let unknown = await rig.tool("redact", String(repeating: "0", count: 32), "--why", "x")
        #expect(unknown.exitCode == 1)
        let without = await ToolRun(
            ["redact", id, "--why", "x", "--kafka", rig.cluster.bootstrapServers], environment: ["USER": "anna"])
        #expect(without.exitCode == 78)
    }
}
