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
    @Test func `an export of a growing topic that is read twice holds what its manifest says`()
        async throws
    {
        try await Self.withRig { rig in
            try await rig.writeChain(Array(0..<600))
            let third = try #require(
                try await rig.context().topic.read(
                    at: RecordPosition(topic: "storekit.dead-letter", partition: 1, offset: 2)
                )
            )
            let redaction = DeadLetterRedaction.record(
                of: third.record,
                by: "dpo",
                why: "request 7",
                at: Timestamp(milliseconds: 0)
            )
            try await rig.write([redaction])
            let (producer, head) = (rig.producer, rig.head)
            let writing = Task {
                var (head, offset) = (head, Int64(600))
                while !Task.isCancelled {
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
}
