import Kafka
import Records
import Synchronization
import Testing
import TestSupport

@testable import Worker

/// Records that have to wait while the infrastructure answers.
@Suite(.timeLimit(.minutes(10))) struct HoldingTests {
    private struct Outgrown: Error, CustomStringConvertible { let description = "update this worker" }

    /// Holds records whose value is 9 while it is to, and forwards all others.
    private final class Switch: Sendable {
        let isHolding = Atomic(true)

        func stage(forwardingTo topic: String) -> FakeStage {
            FakeStage { [self] record in
                if record.value == [9], isHolding.load(ordering: .acquiring) { return .held(by: Outgrown()) }
                let output = ProducerRecord(topic: topic, key: record.key, value: record.value)
                return Verdict(.forwarded, outputs: [output])
            }
        }
    }

    @Test func `a record that has to wait stops its own partition and no other`() async throws {
        let rig = try await LoopRig(partitions: 4)
        let holding = Switch()
        let stage = holding.stage(forwardingTo: rig.output)
        let worker = try rig.worker(stage) { $0.holdDelayMax = .milliseconds(100) }
        worker.start()
        for partition in Int32(0)..<4 {
            try await rig.publish([[1], partition == 2 ? [9] : [2], [3]], partition: partition)
        }
        try await eventually { try await rig.committed(4).mapValues(\.offset) == [0: 3, 1: 3, 2: 1, 3: 3] }
        // Later records continue in the other partitions alone.
        for partition in Int32(0)..<4 { try await rig.publish([[4]], partition: partition) }
        try await eventually { try await rig.committed(4).mapValues(\.offset) == [0: 4, 1: 4, 2: 1, 3: 4] }
        // The record is asked about again and again, and reported once.
        let asked = { stage.seen.processed.count { $0.value == [9] } }
        await eventually { asked() > 3 }
        #expect(rig.log.count("record held, its partition waits") == 1)
        #expect(worker.health.reason(.broker)?.contains("offset 1: update this worker") == true)
        #expect(try await rig.contents(rig.letters).isEmpty)

        holding.isHolding.store(false, ordering: .releasing)
        try await eventually { try await rig.committed(4).mapValues(\.offset) == [0: 4, 1: 4, 2: 4, 3: 4] }
        await eventually { worker.health.isReady }
        try await worker.stop()
        for partition in Int32(0)..<4 {
            let tally = try await rig.tally(partition)
            #expect(tally == StageTally(began: 0, counts: [.forwarded: 4], forwarded: 4))
        }
        #expect(try await rig.contents(rig.output).count == 16)
    }

    @Test func `a record that was held is tried again without others`() async throws {
        let rig = try await LoopRig()
        let holding = Switch()
        let stage = holding.stage(forwardingTo: rig.output)
        let worker = try rig.worker(stage) { $0.holdDelayMax = .milliseconds(100) }
        try await rig.publish([[1], [2], [9], [3], [4]])
        worker.start()
        await eventually { stage.seen.batchSizes.count { $0 == 1 } > 2 }
        holding.isHolding.store(false, ordering: .releasing)
        try await eventually { try await rig.committed()[0]?.offset == 5 }
        try await worker.stop()
        #expect(stage.seen.batchSizes.first ?? 0 > 1)
        #expect(try await rig.contents(rig.output).count == 5)
    }

    @Test func `a partition that is held is given up, and its next owner goes on`() async throws {
        let rig = try await LoopRig()
        let holding = Switch()
        let former = try rig.worker(holding.stage(forwardingTo: rig.output))
        former.start()
        try await rig.publish([[1], [9], [3]])
        try await eventually { try await rig.committed()[0]?.offset == 1 }
        await eventually { rig.log.count("record held, its partition waits") == 1 }
        try await former.stop()
        let next = try rig.worker(FakeStage(forwardingTo: rig.output))
        next.start()
        try await eventually { try await rig.committed()[0]?.offset == 3 }
        try await next.stop()
        #expect(try await rig.contents(rig.output).count == 3)
    }
}
