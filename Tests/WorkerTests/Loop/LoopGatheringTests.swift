import Kafka
import Testing
import TestSupport

@testable import Worker

/// The time for which records gather for a batch.
@Suite(.timeLimit(.minutes(10))) struct LoopGatheringTests {
    @Test func `records gather by the size of the batch before, and not where more are there`() async throws {
        let rig = try await LoopRig()
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output))
        let configuration = worker.loop.configuration
        #expect(configuration.gatherTime(after: 0, hasMore: false) == .zero)
        #expect(configuration.gatherTime(after: 1, hasMore: false) == .milliseconds(1))
        #expect(configuration.gatherTime(after: 7, hasMore: false) == .milliseconds(7))
        #expect(configuration.gatherTime(after: 2_000, hasMore: false) == .milliseconds(20))
        #expect(configuration.gatherTime(after: 2_000, hasMore: true) == .zero)
    }

    @Test func `a record that comes alone waits for no other, and gathering delays no stop`() async throws {
        let rig = try await LoopRig()
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output)) {
            $0.gatherMax = .seconds(3_600)
            $0.gatherPerRecord = .seconds(3_600)
        }
        worker.start()
        await eventually { worker.health.isReady }
        try await rig.publish([[1]])
        try await eventually { try await rig.committed()[0]?.offset == 1 }
        try await rig.publish([[2]])
        await eventually { worker.lag == 1 }
        try await worker.stop()
        #expect(try await rig.committed()[0]?.offset == 1)
    }
}
