import AppStore
import Kafka
import Records
import Telemetry
import Testing
import TestSupport

@testable import Worker

/// Numbers of brokers, clients and commits at the ends of their type.
@Suite(.timeLimit(.minutes(10))) struct BoundedReadingTests {
    @Test(arguments: HostileNumber.all) func `a record of any time and offset waits for a bounded while`(number: Int64)
        throws
    {
        let record = ConsumerRecord("raw", at: number, timestampMilliseconds: number)
        var state = PartitionState(epoch: 1)
        _ = state.begin(CommittedOffset(offset: number, metadata: ""), counting: [])
        _ = state.add(record.offset, batch: 1, writtenAt: record.timestampMilliseconds, at: .now)
        let now: Int64 = 1_767_225_600_000
        let waiting = state.waiting(before: Watermarks(low: number, high: number), at: now)
        let registry = MetricsRegistry()
        WaitingMetrics(registry).show(waiting, now: now, instant: .now)
        #expect(waiting.records == 1)
        let ageMax = Double(Int64.max) / 1_000
        #expect((0...ageMax).contains(try Self.sample("lag_seconds", registry)))
        #expect((0...60).contains(try Self.sample("oldest_unsettled_seconds", registry)))
    }

    /// The value of a metric without labels, as it is exposed.
    private static func sample(_ name: String, _ registry: MetricsRegistry) throws -> Double {
        let text = String(decoding: registry.exposition(), as: UTF8.self)
        let start = "\(MetricsRegistry.namespace)_\(name) "
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(start) })
        return try #require(Double(line.dropFirst(start.count)))
    }

    @Test(arguments: HostileNumber.all) func `a body of any time is settled and committed`(written: Int64) async throws
    {
        let rig = try await LoopRig()
        let stage = FakeStage { _ in
            var verdict = Verdict(.ignored)
            verdict.bodyWrittenAt = Timestamp(milliseconds: written)
            return verdict
        }
        let worker = try rig.worker(stage)
        worker.start()
        try await rig.publish([[1]])
        try await eventually { try await rig.committed()[0]?.offset == 1 }
        try await worker.stop()
    }

    @Test(arguments: HostileNumber.all) func `a commit of any numbers is resumed, or counts begin again`(number: Int64)
        async throws
    {
        let texts = [
            "v1 began=\(number) out=0", "v1 began=0 out=\(number) forwarded=1", "v1 began=0 out=0 forwarded=\(number)",
            "v1 began=\(number) out=\(number) forwarded=\(number) ignored=\(number)",
        ]
        let rig = try await LoopRig(partitions: texts.count)
        for (partition, text) in zip(Int32(0)..., texts) {
            try await rig.publish([[1], [2], [3]], partition: partition)
            try await rig.commit(OffsetCommit(offset: 1, metadata: text), partition: partition)
        }
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output))
        worker.start()
        try await eventually { try await rig.committed(4).values.allSatisfy { $0.offset == 3 } }
        try await worker.stop()
        for (partition, text) in zip(Int32(0)..., texts) { _ = try #require(try await rig.tally(partition), "\(text)") }
    }

    @Test func `a commit whose settings have an endless name begins the counts again`() async throws {
        let rig = try await LoopRig()
        try await rig.publish([[1], [2]])
        let text = "v1 began=0 out=1 forwarded=1 accepted=" + String(repeating: "f", count: 3_000)
        try await rig.commit(OffsetCommit(offset: 1, metadata: text))
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output))
        worker.start()
        try await eventually { try await rig.committed()[0]?.offset == 2 }
        try await worker.stop()
        let tally = try await rig.tally()
        #expect(tally == StageTally(began: 1, counts: [.forwarded: 1], forwarded: 1))
    }
}
