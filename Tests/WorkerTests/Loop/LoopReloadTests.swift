import AppStore
import Kafka
import Records
import Testing
import TestSupport

@testable import Worker

/// Settings that change while the worker runs.
@Suite(.timeLimit(.minutes(10))) struct LoopReloadTests {
    private static func accepting(_ rig: LoopRig) -> FakeStage { FakeStage(forwardingTo: rig.output) }

    private static func refusing() -> FakeStage { FakeStage { .refusedBySettings($0) } }

    private static func active(_ stage: FakeStage, _ rig: LoopRig, _ breaker: Breaker? = nil) -> ActiveStage {
        ActiveStage(stage: stage, deadLetters: { _ in PlainLetters(topic: rig.letters) }, breaker: breaker)
    }

    @Test func `a tripped breaker is armed again, and what it held is processed again`() async throws {
        let rig = try await LoopRig()
        let first = Breaker(settings: "a", bounds: .init(refusedMax: 5))
        let worker = try rig.worker(Self.refusing(), breaker: first)
        worker.start()
        try await rig.publish((0..<20).map { [UInt8($0)] })
        await eventually { worker.health.reason(.breaker) != nil }
        #expect(!worker.health.isReady)
        let breaker = Breaker(settings: "a", bounds: .init(refusedMax: 5))
        worker.loop.reload(Self.active(Self.accepting(rig), rig, breaker))
        try await eventually { try await rig.committed()[0]?.offset == 20 }
        #expect(worker.health.isReady)
        try await worker.stop()
        #expect(try await rig.contents(rig.letters).isEmpty)
        #expect(try await rig.contents(rig.output).map(\.value) == (0..<20).map { [UInt8($0)] })
        let expected = StageTally(began: 0, counts: [.forwarded: 20], forwarded: 20)
        #expect(try await rig.tally() == expected)
    }

    @Test func `settings that are still wrong trip it again`() async throws {
        let rig = try await LoopRig()
        let first = Breaker(settings: "a", bounds: .init(refusedMax: 5))
        let worker = try rig.worker(Self.refusing(), breaker: first)
        worker.start()
        try await rig.publish((0..<20).map { [UInt8($0)] })
        let tripped = "breaker tripped, reading without committing"
        await eventually { rig.log.count(tripped) == 1 }
        let breaker = Breaker(settings: "a", bounds: .init(refusedMax: 5))
        worker.loop.reload(Self.active(Self.refusing(), rig, breaker))
        await eventually { rig.log.count(tripped) == 2 }
        try await worker.stop()
        #expect(try await rig.contents(rig.letters).isEmpty)
        #expect(try await rig.committed()[0]?.offset == nil)
    }

    @Test func `a batch in work ends by the settings it began with`() async throws {
        let rig = try await LoopRig()
        let (first, second) = (Self.accepting(rig), FakeStage { _ in Verdict(.ignored) })
        first.close()
        let worker = try rig.worker(first)
        worker.start()
        try await rig.publish([[1], [2]])
        await eventually { first.seen.processed.count == 2 }
        worker.loop.reload(Self.active(second, rig))
        try await rig.publish([[3]])
        first.open()
        try await eventually { try await rig.committed()[0]?.offset == 3 }
        try await worker.stop()
        #expect(try await rig.contents(rig.output).map(\.value) == [[1], [2]])
        #expect(second.seen.processed.map(\.value) == [[3]])
    }

    @Test func `a batch that cannot be processed is processed by the new settings`() async throws {
        let rig = try await LoopRig()
        let failing = Self.accepting(rig)
        failing.order { $0.faults = Array(repeating: FakeStage.Fault(), count: 10_000) }
        let worker = try rig.worker(failing)
        worker.start()
        try await rig.publish([[1], [2]])
        await eventually { rig.log.count("dependency unavailable, retrying") == 1 }
        worker.loop.reload(Self.active(Self.accepting(rig), rig))
        try await eventually { try await rig.committed()[0]?.offset == 2 }
        await eventually { worker.health.isReady }
        try await worker.stop()
        #expect(try await rig.contents(rig.output).count == 2)
    }

    @Test func `renewed clients read a batch again after the stage is done with it`() async throws {
        let rig = try await LoopRig()
        let stage = Self.accepting(rig)
        stage.close()
        let worker = try rig.worker(stage) { $0.shutdownBudget = .milliseconds(200) }
        worker.start()
        try await rig.publish([[1]])
        await eventually { stage.seen.processed.count == 1 }
        worker.loop.renewClients()
        await eventually { rig.log.count("batches in flight discarded, their records are read again") == 1 }
        #expect(stage.seen.batchSizes.count == 1)
        #expect(stage.seen.abandoned.isEmpty)
        stage.open()
        try await eventually { try await rig.committed()[0]?.offset == 1 }
        #expect(stage.seen.abandoned == [TopicPartition(topic: rig.raw, partition: 0)])
        try await worker.stop()
    }

    @Test func `settings that came before the first batch apply to it`() async throws {
        let rig = try await LoopRig()
        let worker = try rig.worker(Self.refusing())
        worker.loop.reload(Self.active(Self.accepting(rig), rig))
        worker.start()
        try await rig.publish([[1]])
        try await eventually { try await rig.committed()[0]?.offset == 1 }
        try await worker.stop()
        #expect(try await rig.contents(rig.output).count == 1)
    }
}
