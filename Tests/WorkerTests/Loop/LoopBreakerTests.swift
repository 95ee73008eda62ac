import AppStore
import DeadLetters
import Kafka
import Testing
import TestSupport
import Worker

@Suite(.timeLimit(.minutes(10)))
struct LoopBreakerTests {
    /// Refuses values below 100 as those of an unknown app, accepts the others.
    private func stage(_ rig: LoopRig) -> FakeStage {
        FakeStage { record in
            guard let byte = record.value?.first, byte >= 100 else {
                return .deadLettered(DeadLetterFacts(reason: .bundleMismatch, detail: "test"))
            }
            return Verdict(
                .forwarded,
                outputs: [ProducerRecord(topic: rig.output, value: record.value)]
            )
        }
    }

    @Test func `wrong settings empty nothing into the dead letters`() async throws {
        let rig = try await LoopRig()
        let breaker = Breaker(distinctMax: 5, now: .now)
        let worker = try rig.worker(stage(rig), breaker: breaker)
        worker.start()
        try await rig.publish((0..<20).map { [UInt8($0)] })
        await eventually(within: .seconds(20)) { worker.health.reason(.breaker) != nil }
        #expect(
            rig.log.count("the breaker has tripped: nothing is read until the settings are right")
                == 1
        )
        try await worker.stop()
        #expect(try await rig.committed()[0]?.offset == nil)
        #expect(try await rig.contents(rig.letters).isEmpty)
    }

    @Test func `what was held is judged again once a record is accepted`() async throws {
        let rig = try await LoopRig()
        let stage = stage(rig)
        let worker = try rig.worker(stage, breaker: Breaker(distinctMax: 50, now: .now))
        worker.start()
        try await rig.publish([[1], [2], [3]])
        await eventually(within: .seconds(20)) { stage.seen.processed.count == 3 }
        #expect(try await rig.committed()[0]?.offset == nil)
        try await rig.publish([[100], [4]])
        try await eventually(within: .seconds(20)) { try await rig.committed()[0]?.offset == 5 }
        try await worker.stop()
        let letters = try await rig.contents(rig.letters).map(\.value)
        #expect(letters == [[1], [2], [3], [4]])
        let expected = StageTally(
            began: 0,
            counts: [.forwarded: 1, .deadLettered: 4],
            forwarded: 1
        )
        #expect(try await rig.tally() == expected)
    }

    @Test func `what was held is judged again when its time is over`() async throws {
        let rig = try await LoopRig()
        let breaker = Breaker(distinctMax: 50, window: .seconds(6), now: .now)
        let worker = try rig.worker(stage(rig), breaker: breaker)
        worker.start()
        try await rig.publish([[1], [2], [3]])
        try await eventually(within: .seconds(30)) { try await rig.committed()[0]?.offset == 3 }
        try await worker.stop()
        #expect(rig.log.count("the breaker is disarmed: its time is over") == 1)
        #expect(try await rig.tally()?.counts == [.deadLettered: 3])
    }
}
