import Kafka
import Records
import Settings
import Synchronization
import Telemetry
import TestSupport
import Testing

@testable import Worker

/// A cluster with a raw, an output and a dead-letter topic, and workers that run on it.
final class LoopRig: Sendable {
    let cluster: KafkaCluster
    let raw: String
    let output: String
    let letters: String
    let producer: KafkaProducer
    private let admin: KafkaAdmin
    let log = RecordingLogHandler(level: .info)

    init(
        _ kind: KafkaCluster.Kind = .mock, partitions: Int = 1, letterPartitions: Int = 1,
        outputConfiguration: [String: String] = [:]
    ) async throws {
        cluster = try await KafkaCluster(kind)
        raw = try await cluster.topic("raw", partitions: partitions)
        output = try await cluster.topic("output", partitions: partitions, configuration: outputConfiguration)
        letters = try await cluster.topic("letters", partitions: letterPartitions)
        producer = try KafkaProducer(configuration: cluster.client)
        admin = try KafkaAdmin(configuration: cluster.client)
    }

    /// A worker that is not running yet.
    func worker(_ stage: any Stage, breaker: Breaker? = nil, _ change: (inout WorkerConfiguration) -> Void = { _ in })
        throws -> RunningWorker
    {
        var configuration = WorkerConfiguration(
            stage: .fake, inputTopics: [raw], outputTopics: [output], nextTopic: output, deadLetterTopic: letters,
            consumerProperties: cluster.consumer(), producerProperties: cluster.client)
        configuration.retryDelayMin = .milliseconds(20)
        configuration.retryDelayMax = .milliseconds(100)
        configuration.commitInterval = .milliseconds(20)
        change(&configuration)
        return try RunningWorker(stage, configuration, PlainLetters(topic: letters), breaker, Log(log))
    }

    /// Writes values to `raw`, round and round over its partitions when none is given.
    func publish(_ values: [[UInt8]], partition: Int32? = 0) async throws {
        let records = values.map { ProducerRecord(topic: raw, partition: partition, key: [], value: $0) }
        let report = await producer.send(records)
        try #require(report.isComplete)
    }

    /// Writes records to the first partition of `raw`, each in a Kafka transaction of its own.
    func publishTransactions(count: Int, isLastAborted: Bool = false) throws {
        let result = try ReferenceScript("publish_transactions.py").run(
            [cluster.bootstrapServers, raw, "\(count)"] + (isLastAborted ? ["--abort-last"] : []))
        try #require(result.isSuccess, "\(result.text)")
    }

    /// Writes records to the first partition of `raw`, of which the mock keeps only the last 5 MiB.
    func fillBeyondRetention(count: Int) async throws {
        for _ in 0..<count {
            // Nothing that compression makes small.
            var random = SystemRandomNumberGenerator()
            let value = (0..<112_500).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
            try await publish([value])
        }
    }

    /// The settings that partitions' commits say have accepted a record.
    func accepted(partitions: Int32) async throws -> [String?] {
        try await committed(partitions).sorted { $0.key < $1.key }.map { _, committed in
            Self.metadata(committed)?.acceptedSettings
        }
    }

    /// The watermarks of each partition of `raw`.
    func watermarks() async throws -> [Watermarks] {
        let metadata = try await admin.metadata(topic: raw, deadline: .hopeless)
        let marks = try await admin.listOffsets(metadata[topic: raw]?.partitions ?? [], deadline: .seconds(10))
        return marks.sorted { $0.key < $1.key }.map(\.value)
    }

    /// The group's committed offsets of partitions of `raw`.
    func committed(_ partitions: Int32 = 1, by group: String = "group") async throws -> [Int32: CommittedOffset] {
        let offsets = try await admin.committedOffsets(
            group: cluster.name(group), (0..<partitions).map { TopicPartition(topic: raw, partition: $0) },
            deadline: .seconds(10))
        return Dictionary(uniqueKeysWithValues: offsets.map { ($0.key.partition, $0.value) })
    }

    /// Commits for a partition of `raw`, as another program may.
    ///
    /// - Parameter group: one that never had a member: the mock refuses any other.
    func commit(_ commit: OffsetCommit, partition: Int32 = 0, for group: String = "group") async throws {
        let consumer = try KafkaConsumer(configuration: cluster.consumer(group: group))
        let partition = TopicPartition(topic: raw, partition: partition)
        let outcome = await consumer.commit([partition: commit], deadline: .seconds(10))
        await consumer.close(deadline: .seconds(2))
        try #require(outcome.failures.isEmpty)
    }

    func tally(_ partition: Int32 = 0) async throws -> StageTally? { try await metadata(partition)?.tally }

    func metadata(_ partition: Int32 = 0, by group: String = "group") async throws -> CommitMetadata? {
        try await committed(partition + 1, by: group)[partition].flatMap(Self.metadata)
    }

    private static func metadata(_ committed: CommittedOffset) -> CommitMetadata? {
        CommitMetadata(committed.metadata, counting: StageDescription.fake.dispositions)
    }

    /// Everything that a topic holds.
    func contents(_ topic: String) async throws -> [ConsumerRecord] {
        let metadata = try await admin.metadata(topic: topic, deadline: .hopeless)
        let partitions = metadata[topic: topic]?.partitions ?? []
        let marks = try await admin.listOffsets(partitions, deadline: .hopeless)
        let count = marks.values.reduce(0) { $0 + Int($1.high - $1.low) }
        let reader = try KafkaConsumer(configuration: cluster.consumer(group: "reader"))
        try await reader.assign(with: marks.mapValues { .some($0.low) })
        var records: [ConsumerRecord] = []
        try await eventually {
            records += try await reader.poll(recordsMax: 1_000, bytesMax: 10 << 20, wait: .milliseconds(20)).records
            return records.count >= count
        }
        await reader.close(deadline: .seconds(2))
        return records
    }
}
