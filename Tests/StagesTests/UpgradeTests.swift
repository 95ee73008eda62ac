import AppStore
import DedupeStage
import EntitleStage
import Kafka
import LinkStage
import OpenSSL
import Postgres
import Settings
import Synchronization
import Telemetry
import TestSupport
import Testing
import Topology

@testable import Records
@testable import Store
@testable import Worker

/// Old and new workers side by side.
@Suite(.timeLimit(.minutes(10))) struct UpgradeTests {
    private static func newer(_ offset: Int64, by difference: Int64 = 1) -> ConsumerRecord {
        let version = Observation.schemaVersion &+ difference
        let value = Array("{\"schemaVersion\":\(version)}".utf8)
        return ConsumerRecord("storekit.verified", at: offset, value: value)
    }

    @Test func `a newer observation waits in each stage, and is never dead-lettered`() async throws {
        let client = try await StageDatabase.make()
        let stages: [any Stage] = [
            Self.dedupe(client), try await LinkWorker(on: client).stage, try await EntitleWorker(on: client).stage,
        ]
        for stage in stages {
            let records = [try Sample.transaction("1").record(at: 0), Self.newer(1)]
            let verdicts = try await stage.process(records)
            #expect(verdicts.map { $0.heldBy is NewerObservation } == [false, true])
            #expect(!verdicts.contains { $0.isRefused })
            let words = "newer observation version, waiting: update this worker"
            #expect(verdicts[1].heldBy.map { "\($0)".hasPrefix(words) } == true)
        }
        #expect(Observation.readableVersions.upperBound == Observation.schemaVersion)
        #expect(Observation.readableVersions.contains(max(1, Observation.schemaVersion - 1)))
    }

    @Test(arguments: [9, 1_000, Int64.max - 1] as [Int64])
    func `a version that no upgrade passes over is a fault of the record`(difference: Int64) async throws {
        let client = try await StageDatabase.make()
        let stages: [any Stage] = [
            Self.dedupe(client), try await LinkWorker(on: client).stage, try await EntitleWorker(on: client).stage,
        ]
        for stage in stages {
            let verdicts = try await stage.process([Self.newer(0, by: 8), Self.newer(1, by: difference)])
            #expect(verdicts.map { $0.heldBy is NewerObservation } == [true, false])
            #expect(verdicts.map { $0.refusal?.reason } == [nil, .observationMalformed])
        }
    }

    private static func dedupe(_ client: PostgresClient, uniqueTopic: String = "unique") -> DedupeStage {
        DedupeStage(
            client: client, uniqueTopic: uniqueTopic, retention: .seconds(86_400), pruneInterval: .seconds(3_600))
    }

    /// The worker that comes with the newer schema.
    private struct NewStage: Stage {
        func process(_ records: [ConsumerRecord]) async throws -> [Verdict] { records.map { _ in Verdict(.duplicate) } }
    }

    /// Two workers of one group, one after the other.
    private final class Group: Sendable {
        let cluster: KafkaCluster
        let topic: String
        let log = RecordingLogHandler(level: .info)
        private let admin: KafkaAdmin
        private let producer: KafkaProducer
        private let workers = Mutex<[(loop: WorkerLoop, task: Task<Void, any Error>)]>([])
        static let partitions: Int32 = 4

        init(_ kind: KafkaCluster.Kind = .mock) async throws {
            cluster = try await KafkaCluster(kind)
            topic = try await cluster.topic("verified", partitions: Int(Self.partitions))
            _ = try await cluster.topic("unique")
            _ = try await cluster.topic("letters")
            admin = try KafkaAdmin(configuration: cluster.client)
            producer = try KafkaProducer(configuration: cluster.client)
        }

        /// - Parameter properties: librdkafka's, of the consumer.
        func start(_ stage: any Stage, _ properties: [String: String] = [:]) throws -> Health {
            var configuration = WorkerConfiguration(
                stage: .dedupe, inputTopics: [topic], outputTopics: [cluster.name("unique")],
                nextTopic: cluster.name("unique"), deadLetterTopic: cluster.name("letters"),
                consumerProperties: cluster.consumer(group: "group", properties), producerProperties: cluster.client)
            configuration.retryDelayMin = .milliseconds(20)
            configuration.retryDelayMax = .milliseconds(100)
            let health = Health(conditions: [.assigned, .broker, .database], stallMax: .seconds(60))
            let loop = try WorkerLoop(
                ActiveStage(stage: stage, deadLetters: { _ in NoLetters() }), configuration: configuration,
                health: health, metrics: MetricsRegistry(), log: Log(log))
            workers.withLock { $0.append((loop, Task { try await loop.run() })) }
            return health
        }

        /// Publishes a purchase in each partition, signed again in each round.
        func publish(_ round: Int) async throws {
            let records = try (0..<Self.partitions).map { partition in
                let record = try Sample.transaction("\(partition)", signed: Int64(round)).record(at: 0)
                return ProducerRecord(
                    topic: topic, partition: partition, key: record.key, value: record.value, headers: record.headers)
            }
            try #require(await producer.send(records).isComplete)
        }

        func isSettled(_ rounds: Int64) async throws -> Bool {
            let offsets = try await admin.committedOffsets(
                group: cluster.name("group"), (0..<Self.partitions).map { TopicPartition(topic: topic, partition: $0) },
                deadline: .seconds(10))
            return offsets.count == Int(Self.partitions) && offsets.values.allSatisfy { $0.offset == rounds }
        }

        func stop() async throws {
            for (loop, task) in workers.withLock({ $0 }) {
                loop.stop()
                try await task.value
            }
        }
    }

    /// Migrates one further than this program knows.
    private static func migrate(_ client: PostgresClient, _ script: String) async throws {
        let known = try PostgresServer.migrations.migrations()
        let next = Migration(version: known.count + 1, name: "next", script: script)
        try await client.withConnection { connection in _ = try await Migrator(known + [next]).run(on: connection) }
    }

    @Test func `a worker older than a migration leaves its partitions to the new one`() async throws {
        try await Self.outgrow(Group())
    }

    /// A static member, whose partitions the group would keep for it for two minutes.
    @Test(.needsRealKafka) func `a static member older than a migration leaves its partitions too`() async throws {
        try await Self.outgrow(Group(.real), ["group.instance.id": "old", "session.timeout.ms": "120000"])
    }

    private static func outgrow(_ group: Group, _ properties: [String: String] = [:]) async throws {
        let client = try await StageDatabase.make()
        let stage = Self.dedupe(client, uniqueTopic: group.cluster.name("unique"))
        let old = try group.start(stage, properties)
        try await group.publish(1)
        try await eventually { try await group.isSettled(1) }
        try await Self.migrate(
            client,
            """
            ALTER TABLE dedupe_revisions DROP CONSTRAINT dedupe_revisions_pkey;
            ALTER TABLE dedupe_revisions
                ADD PRIMARY KEY (id, environment, bundle_id, kind, trust, track, signed_date_ms);
            """)
        _ = try group.start(NewStage())
        try await group.publish(2)
        try await eventually { try await group.isSettled(2) }
        try await group.publish(3)
        try await eventually { try await group.isSettled(3) }
        #expect(!old.isReady)
        #expect(old.isAlive())
        let words = "database schema too new, leaving the group"
        #expect(group.log.messages.count { $0.hasPrefix(words) } == 1)
        try await group.stop()
    }

    @Test func `a worker continues with a newer compatible schema`() async throws {
        let client = try await StageDatabase.make()
        let group = try await Group()
        _ = try group.start(Self.dedupe(client))
        try await group.publish(1)
        try await eventually { try await group.isSettled(1) }
        try await Self.migrate(client, "ALTER TABLE dedupe_revisions ADD COLUMN note text;")
        try await group.publish(2)
        try await eventually { try await group.isSettled(2) }
        try await group.stop()
    }

    @Test func `a refusal by a newer schema is no fault of the record`() async throws {
        let client = try await StageDatabase.make()
        let worker = try await EntitleWorker(on: client)
        try await Self.migrate(
            client, "ALTER TABLE transactions ADD COLUMN note text NOT NULL DEFAULT '' CHECK (note <> '');")
        let record = try Sample.transaction("1").record(at: 0)
        let error = await #expect(throws: SchemaNewer.self) { _ = try await worker.stage.process([record]) }
        let stage: any Stage = worker.stage
        let thrown = try #require(error)
        #expect(await stage.isOutdated(by: thrown))
    }
}

/// No letter may be written.
private struct NoLetters: DeadLetterWriting {
    func letter(for record: ConsumerRecord, _ refusal: Refusal, value: DeadLetterValue, after previous: SHA256Digest?)
        -> ChainedLetter
    {
        Issue.record("a record was dead-lettered: \(refusal.detail)")
        return ChainedLetter(record: ProducerRecord(topic: "letters"), digest: SHA256.digest([UInt8]()))
    }
}
