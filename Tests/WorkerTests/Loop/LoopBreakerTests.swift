import AppStore
import Kafka
import Records
import Testing
import TestSupport
import Worker

@Suite(.timeLimit(.minutes(10))) struct LoopBreakerTests {
    private static let tripped = "breaker tripped, reading without committing"

    /// Refuses values below 100 as those of an unknown app, accepts the others.
    private func stage(_ rig: LoopRig) -> FakeStage {
        FakeStage { record in
            guard let byte = record.value?.first, byte >= 100 else { return .refusedBySettings(record) }
            return Verdict(
                .forwarded, outputs: [ProducerRecord(topic: rig.output, value: record.value)], evidence: .accepted)
        }
    }

    /// A worker with a breaker that five refusals trip.
    private func worker(_ rig: LoopRig) throws -> RunningWorker {
        try rig.worker(stage(rig), breaker: Breaker(settings: "a", bounds: .init(refusedMax: 5)))
    }

    @Test func `wrong settings empty nothing into the dead letters`() async throws {
        let rig = try await LoopRig()
        let worker = try worker(rig)
        worker.start()
        try await rig.publish((0..<20).map { [UInt8($0)] })
        await eventually { worker.health.reason(.breaker) != nil }
        #expect(rig.log.count(Self.tripped) == 1)
        let named = "com.example.typo in Production: 5"
        #expect(rig.log.metadata(of: Self.tripped).allSatisfy { $0.contains(named) })
        #expect(worker.health.reason(.breaker)?.contains(named) == true)
        try await worker.stop()
        #expect(try await rig.committed()[0]?.offset == nil)
        #expect(try await rig.contents(rig.letters).isEmpty)
    }

    @Test func `what was held is processed again once a record is accepted`() async throws {
        let rig = try await LoopRig()
        let stage = stage(rig)
        let worker = try rig.worker(stage, breaker: Breaker(settings: "a", bounds: .init(refusedMax: 50)))
        worker.start()
        try await rig.publish([[1], [2], [3]])
        await eventually { stage.seen.processed.count == 3 }
        #expect(try await rig.committed()[0]?.offset == nil)
        try await rig.publish([[100], [4]])
        try await eventually { try await rig.committed()[0]?.offset == 5 }
        try await worker.stop()
        let letters = try await rig.contents(rig.letters).map(\.value)
        #expect(letters == [[1], [2], [3], [4]])
        let expected = StageTally(began: 0, counts: [.forwarded: 1, .deadLettered: 4], forwarded: 1)
        #expect(try await rig.tally() == expected)
    }

    @Test func `what was held is processed again when its time is over`() async throws {
        let rig = try await LoopRig()
        let breaker = Breaker(settings: "a", bounds: .init(refusedMax: 50, armedMax: .seconds(2)))
        let worker = try rig.worker(stage(rig), breaker: breaker)
        worker.start()
        try await rig.publish([[1], [2], [3]])
        try await eventually { try await rig.committed()[0]?.offset == 3 }
        try await worker.stop()
        #expect(rig.log.count("breaker disarmed, its time limit is reached") == 1)
        #expect(try await rig.tally()?.counts == [.deadLettered: 3])
    }

    @Test func `settings that have accepted a record start disarmed, also under a flood`() async throws {
        let rig = try await LoopRig()
        let first = try worker(rig)
        first.start()
        try await rig.publish([[100]])
        try await eventually { try await rig.committed()[0]?.offset == 1 }
        try await first.stop()
        try await rig.publish((0..<20).map { [UInt8($0)] })
        let second = try worker(rig)
        second.start()
        try await eventually { try await rig.committed()[0]?.offset == 21 }
        #expect(second.health.reason(.breaker) == nil)
        try await second.stop()
        #expect(try await rig.contents(rig.letters).count == 20)
    }

    @Test func `what settings have accepted is committed with partitions that hold nothing too`() async throws {
        let rig = try await LoopRig(partitions: 2)
        let worker = try worker(rig)
        worker.start()
        try await rig.publish([[100]])
        try await eventually { try await rig.accepted(partitions: 2) == ["a", "a"] }
        try await worker.stop()
        #expect(try await rig.tally(1) == StageTally(began: 0))

        // Others start armed, and continue without having accepted any.
        try await rig.publish([[1]], partition: 1)
        let breaker = Breaker(settings: "b", bounds: .init(refusedMax: 5, armedMax: .seconds(2)))
        let other = try rig.worker(stage(rig), breaker: breaker)
        other.start()
        try await eventually { try await rig.committed(2)[1]?.offset == 1 }
        #expect(rig.log.count("breaker disarmed, its time limit is reached") == 1)
        #expect(try await rig.accepted(partitions: 2) == ["a", "a"])
        try await rig.publish([[101]], partition: 1)
        try await eventually { try await rig.accepted(partitions: 2) == ["b", "b"] }
        try await other.stop()
    }

    @Test func `what is held before its first record is counted once it is read again`() async throws {
        let rig = try await LoopRig()
        try await rig.fillBeyondRetention(count: 8)
        let low = try #require(try await rig.watermarks().first?.low)
        let stage = FakeStage { record in
            record.offset < 10 ? .refusedBySettings(record) : Verdict(.forwarded, evidence: .accepted)
        }
        let worker = try rig.worker(stage, breaker: Breaker(settings: "a", bounds: .init(refusedMax: 100)))
        worker.start()
        await eventually { stage.seen.processed.count == Int(8 - low) }
        #expect(try await rig.committed()[0]?.offset == nil)
        try await rig.publish([[1], [2], [3]])
        try await eventually { try await rig.committed()[0]?.offset == 11 }
        try await worker.stop()
        let counts: [Disposition: Int64] = [.skipped: low, .deadLettered: 10 - low, .forwarded: 1]
        #expect(try await rig.tally() == StageTally(began: 0, counts: counts))
    }

    @Test func `a tripped worker reads on, and goes on by itself at the first accepted record`() async throws {
        let rig = try await LoopRig()
        let worker = try worker(rig)
        worker.start()
        try await rig.publish((0..<20).map { [UInt8($0)] })
        await eventually { worker.health.reason(.breaker) != nil }
        try await rig.publish([[100]])
        try await eventually { try await rig.committed()[0]?.offset == 21 }
        #expect(worker.health.reason(.breaker) == nil)
        try await worker.stop()
    }
}
