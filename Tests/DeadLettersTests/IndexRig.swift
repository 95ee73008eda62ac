import AppStore
import Foundation
import IndexStage
import Kafka
import KitWrappers
import Postgres
import Records
import Settings
import Store
import Synchronization
import TestSupport
import Worker

@testable import DeadLetters

/// A dead-letter topic and a database for its index.
struct IndexRig {
    let cluster: KafkaCluster
    let prefix: String
    let topic: DeadLetterTopic
    let options: PostgresOptions
    let client: PostgresClient
    /// The log of all indexes of this rig.
    let log = RecordingLogHandler()

    init(_ kind: KafkaCluster.Kind = .mock, partitions: Int = 2) async throws {
        cluster = try await KafkaCluster(kind)
        prefix = cluster.name("audit") + "."
        let name = prefix + Topic.deadLetter
        if let mock = cluster.mock {
            try mock.createTopic(name, partitions: partitions)
        } else {
            let admin = try KafkaAdmin(configuration: cluster.client)
            _ = try await admin.createTopics(
                [NewTopic(name: name, partitions: partitions, replication: 1, configuration: [:])],
                deadline: .seconds(20))
            await admin.close()
        }
        // The mock keeps a member that has left until its session ends.
        let session = ["session.timeout.ms": "4000", "heartbeat.interval.ms": "300"]
        topic = DeadLetterTopic(
            name: name, configuration: cluster.client.merging(cluster.mock == nil ? [:] : session) { $1 })
        var options = try await PostgresServer.shared.migratedDatabase()
        options.sessionSettings = DeadLetterTable.sessionSettings
        self.options = options
        client = PostgresClient(options, connectionsMax: 4)
    }

    func writer(stage: String = "verify") -> DeadLetterWriter {
        let sample = Sample.context(stage: stage)
        return DeadLetterWriter(
            DeadLetterContext(
                cluster: sample.cluster, topic: topic.name, stage: stage, readsObservations: stage != "verify",
                worker: sample.worker, verifierVersion: sample.verifierVersion, configuration: sample.configuration))
    }

    /// Letters of different sources, spread over the partitions by their keys.
    func letters(_ numbers: Range<Int>, _ refusal: Refusal = Sample.refusal) -> [ProducerRecord] {
        numbers.map { number in
            writer().letter(
                for: Sample.original(offset: Int64(number), key: Array("key\(number)".utf8)), refusal, value: .original)
        }
    }

    func send(_ records: [ProducerRecord]) async throws {
        let producer = try KafkaProducer(configuration: cluster.client)
        let report = await producer.send(records)
        await producer.close(deadline: .seconds(20))
        guard report.failures.isEmpty else { throw NotSent() }
    }

    struct NotSent: Error {}

    /// Indexes everything stored.
    func index(group: String = "index") async throws { try await IndexRun(self, group: group).end() }

    /// Runs the tool against topic and database.
    func tool(_ arguments: String..., environment: [String: String] = [:], isInteractive: Bool = false) async -> ToolRun
    { await tool(arguments, environment: environment, isInteractive: isInteractive) }

    func tool(_ arguments: [String], environment: [String: String] = [:], isInteractive: Bool = false) async -> ToolRun
    {
        await ToolRun(
            arguments + ["--kafka", cluster.bootstrapServers, "--prefix", prefix],
            environment: environment.merging(["DATABASE_URL": options.connectionString, "USER": "anna"]) { $1 },
            isInteractive: isInteractive)
    }

    func count(_ query: DeadLetterQuery = DeadLetterQuery()) async throws -> Int {
        Int(try await DeadLetterCounts.count(query, on: client))
    }
}

/// The index as a worker of this process.
struct IndexRun {
    let service: WorkerService
    private let rig: IndexRig
    private let running: Task<Void, any Error>

    /// - Parameter other: settings beside those of the rig.
    init(_ rig: IndexRig, group: String = "index", _ other: [String: String] = [:]) throws {
        self.rig = rig
        let program = WorkerProgram.deadLetterIndex
        let source = SettingsSource(
            schema: program.schema,
            environment: [
                "KAFKA_BOOTSTRAP": rig.cluster.bootstrapServers, "KAFKA_TOPIC_PREFIX": rig.prefix,
                "KAFKA_GROUP_PREFIX": rig.cluster.name(group) + ".", "HTTP_PORT": "0",
                // The mock keeps a member that has left until its session ends.
                "KAFKA_SESSION_TIMEOUT": rig.cluster.mock == nil ? "6s" : "4s", "RETRY_DELAY_MAX": "1s",
                "DATABASE_URL": rig.options.connectionString,
            ].merging(other) { $1 }, filePath: nil)
        let service = try WorkerService(program, source.read(), from: source, log: rig.log)
        self.service = service
        running = Task { try await service.run() }
    }

    /// Stops it in order.
    func stop() async throws {
        service.stop()
        try await running.value
    }

    /// Stops it once everything is indexed that the topic holds now.
    func end() async throws {
        await IndexEnd(topic: rig.topic, client: rig.client).reach()
        try await stop()
    }
}
