import AppStore
import Kafka
import Records
import Synchronization
import TestSupport
import Testing

@testable import DeadLetters

/// Reads `raw` as verify-worker does: writes a dead letter for each refusal, then commits; then
/// indexes the letters, as `dead-letter index` does.
final class ReplayStage: Sendable {
    private struct State {
        var refuses: @Sendable (ConsumerRecord) -> Bool
        var isEnded = false
        var read: [ConsumerRecord] = []
    }

    private let state: Mutex<State>
    private let rig: ReplayRig
    private let consumer: KafkaConsumer
    private let isIndexing: Bool

    init(_ rig: ReplayRig, refusing refuses: @escaping @Sendable (ConsumerRecord) -> Bool, isIndexing: Bool) throws {
        self.rig = rig
        self.isIndexing = isIndexing
        state = Mutex(State(refuses: refuses))
        let group = ["group.id": rig.names.groupPrefix + "verify"]
        consumer = try KafkaConsumer(configuration: rig.cluster.client.merging(group) { $1 })
    }

    /// Lends the stage to `body` while it reads new records, or everything.
    static func running<T>(
        _ rig: ReplayRig, refusing refuses: @escaping @Sendable (ConsumerRecord) -> Bool = { _ in false },
        fromStart: Bool = false, isIndexing: Bool = true, _ body: (ReplayStage) async throws -> T
    ) async throws -> T {
        let stage = try ReplayStage(rig, refusing: refuses, isIndexing: isIndexing)
        let former = fromStart ? [] : try await rig.records(of: rig.rawTopic)
        let ends = former.reduce(into: [Int32: Int64]()) { $0[$1.topicPartition.partition] = $1.offset + 1 }
        let work = Task { try await stage.work(from: ends) }
        do {
            let value = try await body(stage)
            stage.end()
            try await work.value
            await stage.consumer.close(deadline: .seconds(5))
            return value
        } catch {
            stage.end()
            if case .failure(let failure) = await work.result { Issue.record("the stage had stopped: \(failure)") }
            await stage.consumer.close(deadline: .seconds(5))
            throw error
        }
    }

    /// The records that it has read, in order.
    var read: [ConsumerRecord] { state.withLock(\.read) }

    private func end() { state.withLock { $0.isEnded = true } }

    private func work(from ends: [Int32: Int64]) async throws {
        let partitions = (0..<Int32(2)).map {
            (TopicPartition(topic: rig.rawTopic, partition: $0), Optional(ends[$0] ?? 0))
        }
        try await consumer.assign(with: Dictionary(uniqueKeysWithValues: partitions))
        while !state.withLock(\.isEnded) {
            let polled = try await consumer.poll(recordsMax: 100, bytesMax: 1 << 20, wait: .milliseconds(50))
            guard !polled.records.isEmpty else { continue }
            try await process(polled.records)
        }
    }

    private func process(_ records: [ConsumerRecord]) async throws {
        let refuses = state.withLock { state in
            state.read += records
            return state.refuses
        }
        let refusal = Refusal(reason: .bundleMismatch, detail: "still not configured")
        let letters = records.filter(refuses).map { rig.letter(for: $0, refusal) }
        if let failure = await rig.producer.send(letters).failures.values.first { throw failure }
        let commits = records.reduce(into: [TopicPartition: OffsetCommit]()) {
            let source = $1.topicPartition
            let name = ChainName(stage: "verify", topic: source.topic, partition: source.partition)
            $0[source] = OffsetCommit(offset: $1.offset + 1, metadata: rig.metadata(of: name))
        }
        await commit(commits)
        if isIndexing, !letters.isEmpty { try await rig.index() }
    }

    /// Retries while the brokers are away, as a worker does: a stage that gave up would leave a
    /// replay without a reader.
    private func commit(_ commits: [TopicPartition: OffsetCommit]) async {
        await eventually(within: .seconds(240), "the brokers take no commit") {
            let outcome = await consumer.commit(commits, deadline: .seconds(2))
            return outcome.failures.isEmpty || state.withLock(\.isEnded)
        }
    }
}
