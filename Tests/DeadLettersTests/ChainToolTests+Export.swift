import AppStore
import DeadLetters
import Foundation
import Kafka
import Records
import TestSupport
import Testing

/// Exports of a topic that goes on growing.
extension ChainToolTests {
    /// A redaction of a letter that was folded makes the export read the topic a second time.
    @Test func `an export of a growing topic that is read twice holds what its manifest says`() async throws {
        try await Self.withRig { rig in
            try await rig.writeChain(Array(0..<600))
            let third = try #require(
                try await rig.context().topic.read(
                    at: RecordPosition(topic: "storekit.dead-letter", partition: 1, offset: 2)))
            let redaction = DeadLetterRedaction.record(
                of: third.record, by: "dpo", why: "request 7", at: Timestamp(milliseconds: 0))
            try await rig.write([redaction])
            let (producer, head) = (rig.producer, rig.head)
            let writing = Task {
                var (head, offset) = (head, Int64(600))
                // The mock cluster keeps no more than 4.6 MB.
                while !Task.isCancelled, offset < 1_600 {
                    let letter = Rig.letter(offset, after: head)
                    _ = await producer.send([letter.record])
                    (head, offset) = (letter.digest, offset + 1)
                }
            }
            let folder = rig.folder + "/export"
            let export = await rig.run("export", "--to", folder)
            writing.cancel()
            await writing.value
            #expect(export.exitCode == 0, "\(export.notes)")
            let offline = await ToolRun(["verify", "--offline", folder + "/manifest.json"])
            #expect(offline.exitCode == 0, "\(offline.notes)")
        }
    }

    /// Takes an anchor of the topic.
    private static func anchor(_ rig: Rig, _ name: String) async throws -> String {
        let file = "\(rig.folder)/\(name).json"
        try Data(await rig.run("anchor").bytes).write(to: URL(filePath: file))
        return file
    }

    @Test func `an anchor of letters before or after an export is noted, and no fault of it`() async throws {
        try await Self.withRig { rig in
            try await rig.writeChain([2, 5, 9])
            let early = try await Self.anchor(rig, "early")
            let written = Date.now
            await eventually { Date.now.timeIntervalSince(written) > 0.002 }
            let since = Timestamp(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1_000))
            try await rig.writeChain([10, 13])
            let inside = try await Self.anchor(rig, "inside")
            let folder = rig.folder + "/export"
            let export = await rig.run("export", "--to", folder, "--since", since.description)
            #expect(export.result.hasPrefix("2 dead letters"), "\(export.result)")
            try await rig.writeChain([20])
            let late = try await Self.anchor(rig, "late")
            let offline = ["verify", "--offline", folder + "/manifest.json", "--anchor"]
            for (anchor, isOutside) in [(early, true), (inside, false), (late, true)] {
                let run = await ToolRun(offline + [anchor])
                #expect(run.exitCode == 0, "\(anchor): \(run.notes)")
                #expect(run.notes.contains("lies outside of the export") == isOutside)
            }
            let forged = try String(contentsOfFile: inside, encoding: .utf8).replacing(
                /"link":"\w{8}/, with: "\"link\":\"00000000")
            try forged.write(toFile: inside, atomically: true, encoding: .utf8)
            let altered = await ToolRun(offline + [inside])
            #expect(altered.exitCode == 1 && altered.notes.contains("the anchored link 00000000"))
            // Letters that were anchored before the export and are not in it were cut off.
            let before = try String(contentsOfFile: late, encoding: .utf8).replacing(
                /"taken_at":"[^"]*"/, with: "\"taken_at\":\"\(since)\"")
            try before.write(toFile: late, atomically: true, encoding: .utf8)
            let cut = await ToolRun(offline + [late])
            #expect(cut.exitCode == 1 && cut.notes.contains("the anchored link"), "\(cut.notes)")
        }
    }

    @Test func `an anchor of another topic is refused for an export too`() async throws {
        try await Self.withRig { rig in
            try await rig.writeChain([2, 5, 9])
            let anchor = try await Self.anchor(rig, "anchor")
            let folder = rig.folder + "/export"
            #expect(await rig.run("export", "--to", folder).exitCode == 0)
            let other = try String(contentsOfFile: anchor, encoding: .utf8).replacing(
                "\"topic\":\"storekit.dead-letter\"", with: "\"topic\":\"other\"")
            try other.write(toFile: anchor, atomically: true, encoding: .utf8)
            let manifest = folder + "/manifest.json"
            let run = await ToolRun(["verify", "--offline", manifest, "--anchor", anchor])
            #expect(run.exitCode == 65)
            #expect(run.notes.contains("the anchor is of the topic other, not of storekit"))
        }
    }
}
