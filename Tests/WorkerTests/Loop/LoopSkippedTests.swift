import Foundation
import Kafka
import Records
import Testing
import TestSupport
import Worker

/// Offsets that hold no record.
@Suite(.timeLimit(.minutes(10))) struct LoopSkippedTests {
    @Test func `what retention removed before the first commit is counted as skipped`() async throws {
        let rig = try await LoopRig()
        try await rig.fillBeyondRetention(count: 8)
        let low = try #require(try await rig.watermarks().first?.low)
        #expect((1..<8).contains(low))
        let worker = try rig.worker(FakeStage { _ in Verdict(.ignored) })
        worker.start()
        try await eventually { try await rig.committed()[0]?.offset == 8 }
        try await worker.stop()
        let tally = try await rig.tally()
        #expect(tally == StageTally(began: 0, counts: [.skipped: low, .ignored: 8 - low]))
        #expect(rig.log.count(Self.goneBefore) == 1)
    }

    @Test(.needsRealKafka, .enabled(if: hasClient, "install python3-confluent-kafka"))
    func `control records are counted apart from what retention took, and nothing waits at rest`() async throws {
        let rig = try await LoopRig(.real)
        try rig.publishTransactions(count: 5)
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output))
        worker.start()
        try await eventually { try await rig.committed()[0]?.offset == 10 }
        let expected = StageTally(began: 0, counts: [.forwarded: 5, .control: 5], forwarded: 5)
        #expect(try await rig.tally() == expected)
        // An aborted transaction leaves nothing but offsets.
        try rig.publishTransactions(count: 1, isLastAborted: true)
        try await eventually { try await rig.committed()[0]?.offset == 12 }
        #expect(try await rig.tally()?.counts == [.forwarded: 5, .control: 7])
        await eventually { worker.lag == 0 }
        try await worker.stop()
    }

    private static let goneBefore = "records deleted before the first commit, counted as skipped"

    private static let hasClient = FileManager.default.fileExists(
        atPath: "/usr/lib/python3/dist-packages/confluent_kafka")
}
