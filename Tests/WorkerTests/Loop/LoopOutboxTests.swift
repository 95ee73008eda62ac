import Kafka
import KitWrappers
import TestSupport
import Testing
import Worker

@Suite(.timeLimit(.minutes(10))) struct LoopOutboxTests {
    @Test(arguments: KafkaCluster.Kind.available) func `what waits is written without a record in, in its order`(
        kind: KafkaCluster.Kind
    ) async throws {
        let rig = try await LoopRig(kind)
        let outbox = FakeOutbox()
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output, outbox: outbox))
        worker.start()
        let values = (0..<50).map { [UInt8($0)] }
        outbox.put(values.map { ProducerRecord(topic: rig.output, key: [], value: $0) })
        await eventually { outbox.seen.waiting.isEmpty }
        #expect(try await rig.contents(rig.output).map(\.value) == values)
        try await worker.stop()
        #expect(outbox.seen.isClosed)
    }

    @Test func `what was not acknowledged waits, and the worker is not ready`() async throws {
        let rig = try await LoopRig()
        let outbox = FakeOutbox()
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output, outbox: outbox))
        worker.start()
        await eventually { worker.health.isReady }
        // More often than the producer tries within the time that it has for a record.
        try rig.cluster.mock?.fail(.produce, with: Array(repeating: .requestTimedOut, count: 999))
        outbox.put([ProducerRecord(topic: rig.output, key: [], value: [1])])
        await eventually { !worker.health.isReady }
        #expect(outbox.seen.waiting.count == 1)
        try rig.cluster.mock?.clearFailures(.produce)
        await eventually { outbox.seen.waiting.isEmpty && worker.health.isReady }
        try await worker.stop()
    }

    @Test func `an outbox's own condition does not hold while it fails, and all others do`() async throws {
        let rig = try await LoopRig()
        let outbox = FakeOutbox()
        let apple = HealthCondition("apple")
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output, outbox: outbox)) { $0.outboxDependency = apple }
        worker.start()
        await eventually { worker.health.isReady }
        outbox.fail(true)
        await eventually { worker.health.reason(apple) != nil }
        #expect(worker.health.reason(.broker) == nil)
        outbox.fail(false)
        await eventually { worker.health.isReady }
        try await worker.stop()
    }

    @Test func `an outbox that works does not end the fault of another`() async throws {
        let rig = try await LoopRig()
        let (outbox, events) = (FakeOutbox(), FakeOutbox(writesRecords: false))
        let apple = HealthCondition("apple")
        let stage = FakeStage(forwardingTo: rig.output, outbox: outbox, beside: events)
        let worker = try rig.worker(stage) { $0.outboxDependency = apple }
        worker.start()
        await eventually { worker.health.isReady }
        outbox.fail(true)
        await eventually { worker.health.reason(apple) != nil }
        for _ in 0..<20 {
            let occasions = events.seen.occasions
            await eventually { events.seen.occasions > occasions }
            #expect(worker.health.reason(apple) != nil)
        }
        outbox.fail(false)
        await eventually { worker.health.isReady }
        try await worker.stop()
    }

    @Test func `a database that goes away while no record comes makes the worker unready`() async throws {
        let rig = try await LoopRig()
        let stage = FakeStage(forwardingTo: rig.output)
        let worker = try rig.worker(stage)
        worker.start()
        await eventually { worker.health.isReady }
        stage.order { $0.isUnreachable = true }
        await eventually { !worker.health.isReady }
        stage.order { $0.isUnreachable = false }
        await eventually { worker.health.isReady }
        try await worker.stop()
    }
}
