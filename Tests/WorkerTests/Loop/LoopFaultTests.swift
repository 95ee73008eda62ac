import Kafka
import KitWrappers
import Records
import Settings
import Telemetry
import TestSupport
import Testing

@testable import Worker

/// The ends of faults: by answers, and by nothing else.
@Suite(.timeLimit(.minutes(10))) struct LoopFaultTests {
    private static let unavailable = "dependency unavailable, retrying"
    private static let available = "dependency available again"

    @Test func `the fault of a probe ends with the next batch, not with the next probe`() async throws {
        let rig = try await LoopRig()
        let stage = FakeStage(forwardingTo: rig.output)
        let worker = try rig.worker(stage) { $0.dependency = .database }
        worker.start()
        await eventually { worker.health.isReady }
        #expect(worker.failing(.database) == [])
        stage.order { $0.isUnreachable = true }
        await eventually { worker.health.reason(.database) != nil }
        #expect(worker.failing(.database) == [.other])
        #expect(worker.failing(.broker) == [])
        // The probe itself never succeeds again.
        try await rig.publish([[1]])
        await eventually { worker.health.isReady && worker.failing(.database) == [] }
        #expect(!stage.seen.processed.isEmpty)
        #expect(rig.log.count(Self.available) == 1)
        try await worker.stop()
    }

    @Test func `a step that is refused again and again stays failing while others are answered`() async throws {
        let rig = try await LoopRig()
        let outbox = FakeOutbox()
        let stage = FakeStage(forwardingTo: rig.output, outbox: outbox)
        let worker = try rig.worker(stage) { $0.dependency = .database }
        worker.start()
        await eventually { worker.health.isReady }
        stage.order { $0.faults = Array(repeating: FakeStage.Fault(), count: 100_000) }
        try await rig.publish([[1]])
        await eventually { worker.health.reason(.database) != nil }
        let occasions = outbox.seen.occasions
        await eventually { stage.seen.batchSizes.count > 5 && outbox.seen.occasions > occasions + 5 }
        #expect(rig.log.count(Self.unavailable) == 1)
        #expect(rig.log.count(Self.available) == 0)
        #expect(worker.failing(.database) == [.other])
        stage.order { $0.faults = [] }
        await eventually { worker.health.isReady && worker.failing(.database) == [] }
        try await worker.stop()
    }

    /// librdkafka reports the loss once, while earlier acknowledgements are still to be settled.
    @Test func `the loss of all connections ends by a connection alone`() async throws {
        struct Lost: Error {}
        let health = Health(conditions: [.broker], stallMax: .seconds(60))
        let faults = Faults(
            log: Log(RecordingLogHandler(level: .info)), health: health, metrics: WorkerMetrics(MetricsRegistry(), []),
            dependency: .broker, outboxes: .broker)
        faults.failed(.connection, Lost())
        try await faults.attempt(.offsets) {}
        #expect(health.reason(.broker) != nil)
        try await faults.attempt(.connection) {}
        #expect(health.reason(.broker) == nil)
    }

    @Test func `work that is dropped while no broker answers ends no fault`() async throws {
        let rig = try await LoopRig()
        let stage = FakeStage(forwardingTo: rig.output)
        let worker = try rig.worker(stage) { configuration in
            configuration.producerProperties["message.timeout.ms"] = "300"
        }
        worker.start()
        try await rig.publish([[1]])
        try await eventually { try await rig.committed()[0]?.offset == 1 }
        stage.close()
        try await rig.publish([[2]])
        await eventually { stage.seen.processed.count == 2 }
        try rig.cluster.mock?.takeDown()
        stage.open()
        let deliver = #"entitlements_infrastructure_faults_total{step="deliver",cause="timeout"}"#
        await eventually { worker.value(deliver) ?? 0 > 0 }
        let written = worker.value("entitlements_output_records_total")
        await eventually("the batch is dropped with its partition") {
            rig.log.count("partitions lost, discarding batches in flight") == 1
                && worker.value("entitlements_batches_in_flight") == 0
        }
        #expect(rig.log.count(Self.available) == 0)
        #expect(worker.health.reason(.broker) != nil)
        #expect(!worker.failing(.broker).isEmpty)
        #expect(worker.value("entitlements_output_records_total") == written)
        try rig.cluster.mock?.bringUp()
        try await eventually { try await rig.committed()[0]?.offset == 2 }
        await eventually { worker.health.isReady }
        #expect(worker.failing(.broker) == [])
        #expect(rig.log.metadata(of: Self.available).contains { $0.contains("deliver") })
        try await worker.stop()
    }
}
