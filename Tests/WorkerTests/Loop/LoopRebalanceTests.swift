import Kafka
import KitWrappers
import Records
import TestSupport
import Testing
import Worker

@Suite(.timeLimit(.minutes(10))) struct LoopRebalanceTests {
    /// A worker that has begun with two records, and whose stage holds them until it is opened.
    private static func busyWorker(_ change: (inout WorkerConfiguration) -> Void = { _ in }) async throws -> (
        rig: LoopRig, stage: FakeStage, worker: RunningWorker
    ) {
        let rig = try await LoopRig()
        let stage = FakeStage(forwardingTo: rig.output)
        stage.close()
        let worker = try rig.worker(stage, change)
        worker.start()
        try await rig.publish([[1], [2]])
        await eventually { !stage.seen.processed.isEmpty }
        return (rig, stage, worker)
    }

    @Test func `what is in hand of lost partitions is discarded and done again`() async throws {
        let (rig, stage, worker) = try await Self.busyWorker()
        try rig.cluster.mock?.fail(.heartbeat, with: [.unknownMember])
        await eventually { rig.log.count("partitions lost, discarding batches in flight") == 1 }
        stage.open()
        try await eventually { try await rig.committed()[0]?.offset == 2 }
        try await worker.stop()
        #expect(stage.seen.abandoned == [TopicPartition(topic: rig.raw, partition: 0)])
        #expect(stage.seen.acknowledged.map(\.offset) == [0, 1])
        let values = try await rig.contents(rig.output).compactMap(\.value)
        #expect(Set(values) == [[1], [2]])
        #expect(try await rig.tally()?.counts == [.forwarded: 2])
    }

    @Test(arguments: KafkaCluster.Kind.available)
    func `a second worker takes over half, and every record is settled once`(kind: KafkaCluster.Kind) async throws {
        let rig = try await LoopRig(kind, partitions: 4)
        let stages = (0..<2).map { _ in FakeStage(forwardingTo: rig.output) }
        let workers = try stages.map { try rig.worker($0) { $0.batchRecordsMax = 10 } }
        workers[0].start()
        for partition in 0..<4 { try await rig.publish((0..<50).map { [UInt8($0)] }, partition: Int32(partition)) }
        await eventually { !stages[0].seen.acknowledged.isEmpty }
        workers[1].start()
        await eventually { workers[1].health.isReady }
        for partition in 0..<4 { try await rig.publish((50..<100).map { [UInt8($0)] }, partition: Int32(partition)) }
        try await eventually { try await rig.committed(4).values.allSatisfy { $0.offset == 100 } }
        #expect(!stages[1].seen.acknowledged.isEmpty)
        for worker in workers { try await worker.stop() }
        for partition in 0..<4 {
            let tally = try await rig.tally(Int32(partition))
            #expect(tally?.began == 0)
            #expect(tally?.counts == [.forwarded: 100])
        }
        let values = try await rig.contents(rig.output).compactMap { $0.value?.first }
        #expect(Set(values).count == 100)
    }

    @Test(.needsRealKafka) func `a static member that is to leave on stop hands on its partitions`() async throws {
        let rig = try await LoopRig(.real)
        let workers = try ["first", "second"].map { name in
            try rig.worker(FakeStage(forwardingTo: rig.output)) { configuration in
                configuration.leavesOnStop = true
                configuration.consumerProperties["group.instance.id"] = name
                configuration.consumerProperties["session.timeout.ms"] = "120000"
            }
        }
        workers[0].start()
        try await rig.publish([[1]])
        try await eventually { try await rig.committed()[0]?.offset == 1 }
        workers[1].start()
        await eventually { workers[1].health.isReady }
        try await workers[0].stop()
        try await rig.publish([[2]])
        try await eventually { try await rig.committed()[0]?.offset == 2 }
        try await workers[1].stop()
    }

    @Test func `stopping finishes and commits what is in hand`() async throws {
        let (rig, stage, worker) = try await Self.busyWorker()
        worker.loop.stop()
        stage.open()
        try await worker.stop()
        let count = Int64(stage.seen.processed.count)
        #expect(try await rig.committed()[0]?.offset == count)
        #expect(rig.log.count("batches in flight discarded, their records are read again") == 0)
    }

    @Test func `what is not finished within the budget is left uncommitted`() async throws {
        let (rig, stage, worker) = try await Self.busyWorker { $0.shutdownBudget = .milliseconds(300) }
        try await worker.stop()
        #expect(try await rig.committed()[0]?.offset == nil)
        #expect(rig.log.count("batches in flight discarded, their records are read again") == 1)
        stage.open()
    }

    @Test func `a revoked partition whose commit the group refuses for good is given up at once`() async throws {
        let rig = try await LoopRig(partitions: 2)
        let stages = (0..<2).map { _ in FakeStage(forwardingTo: rig.output) }
        let workers = try stages.map { stage in try rig.worker(stage) { $0.revocationBudget = .seconds(900) } }
        stages[0].close()
        workers[0].start()
        for partition in 0..<2 { try await rig.publish([[1], [2]], partition: Int32(partition)) }
        await eventually { !stages[0].seen.processed.isEmpty }
        workers[1].start()
        await eventually { rig.log.count("partitions revoked, finishing batches in flight") == 1 }
        let refusals = Array(repeating: MockError.illegalGeneration, count: 999)
        try rig.cluster.mock?.fail(.offsetCommit, with: refusals)
        stages[0].open()
        await eventually { rig.log.count(Self.givenUp) > 0 }
        #expect(rig.log.count(Self.lost) == 0)
        try rig.cluster.mock?.clearFailures(.offsetCommit)
        try await eventually(within: .seconds(120)) { try await rig.committed(2).values.allSatisfy { $0.offset == 2 } }
        for worker in workers { try await worker.stop() }
        for partition in 0..<2 {
            let tally = try await rig.tally(Int32(partition))
            #expect(tally?.counts == [.forwarded: 2])
        }
    }

    @Test func `a last commit that the group refuses for good is not repeated`() async throws {
        let rig = try await LoopRig()
        let stage = FakeStage(forwardingTo: rig.output)
        stage.close()
        let worker = try rig.worker(stage) { $0.closeDeadline = .seconds(900) }
        worker.start()
        try await rig.publish([[1], [2]])
        await eventually { !stage.seen.processed.isEmpty }
        let refusals = Array(repeating: MockError.illegalGeneration, count: 9_999)
        try rig.cluster.mock?.fail(.offsetCommit, with: refusals)
        worker.loop.stop()
        stage.open()
        let start = ContinuousClock.now
        try await worker.stop()
        #expect(.now - start < .seconds(300))
        #expect(try await rig.committed()[0]?.offset == nil)
    }

    private static let givenUp = "commit fenced, partitions released"
    private static let lost = "partitions lost, discarding batches in flight"
}
