import Kafka
import KitWrappers
import TestSupport
import Testing
import Worker

@Suite(.timeLimit(.minutes(10))) struct LoopReadinessTests {
    private static let waiting = "waiting for the group"

    /// Lets no member of the group join again until the failures are cleared.
    private static func holdUp(_ rig: LoopRig, _ heartbeats: [MockError]) throws {
        let refusals = Array(repeating: MockError.rebalanceInProgress, count: 9_999)
        try rig.cluster.mock?.fail(.joinGroup, with: refusals)
        try rig.cluster.mock?.fail(.heartbeat, with: heartbeats)
    }

    @Test func `a worker that has lost its partitions is not ready until the group is balanced`() async throws {
        let rig = try await LoopRig()
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output))
        worker.start()
        try await rig.publish([[1]])
        try await eventually { try await rig.committed()[0]?.offset == 1 }
        #expect(worker.health.isReady)
        try Self.holdUp(rig, [.unknownMember])
        await eventually { worker.health.reason(.assigned) == Self.waiting }
        #expect(rig.log.count("partitions lost, discarding batches in flight") == 1)
        try rig.cluster.mock?.clearFailures(.joinGroup)
        await eventually { worker.health.isReady }
        try await rig.publish([[2]])
        try await eventually { try await rig.committed()[0]?.offset == 2 }
        try await worker.stop()
    }

    @Test func `a worker beyond the partitions is ready unless its group is rebalancing`() async throws {
        let rig = try await LoopRig()
        let workers = try (0..<2).map { _ in try rig.worker(FakeStage(forwardingTo: rig.output)) }
        workers[0].start()
        await eventually { workers[0].health.isReady }
        workers[1].start()
        await eventually { workers[1].health.isReady }
        try Self.holdUp(rig, Array(repeating: .rebalanceInProgress, count: 4))
        await eventually { workers[1].health.reason(.assigned) == Self.waiting }
        // The other worker keeps its partition during the rebalance.
        #expect(workers[0].health.isReady)
        try rig.cluster.mock?.clearFailures(.joinGroup)
        await eventually { workers[1].health.isReady }
        for worker in workers { try await worker.stop() }
    }

    @Test(.needsRealKafka) func `a worker whose topic is missing names it until it appears`() async throws {
        let rig = try await LoopRig(.real)
        let topic = rig.cluster.name("later")
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output)) { $0.inputTopics = [topic] }
        worker.start()
        let reason = "topic \(topic) is missing or not authorized"
        await eventually { worker.health.reason(.assigned) == reason }
        _ = try await rig.cluster.topic("later")
        await eventually { worker.health.isReady }
        try await worker.stop()
    }
}
