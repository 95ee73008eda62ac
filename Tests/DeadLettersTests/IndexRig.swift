import AppStore
import Foundation
import Kafka
import Postgres
import Records
import Settings
import Store
import Synchronization
import TestSupport

@testable import DeadLetters

/// A dead-letter topic and a database for its index.
struct IndexRig {
    let cluster: KafkaCluster
    let prefix: String
    let topic: DeadLetterTopic
    let options: PostgresOptions
    let client: PostgresClient
    /// The events of all indexers of this rig.
    let events = Events()

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
                deadline: .seconds(20)
            )
            await admin.close()
        }
        // The mock keeps a member that has left until its session ends.
        let session = ["session.timeout.ms": "4000", "heartbeat.interval.ms": "300"]
        topic = DeadLetterTopic(
            name: name,
            configuration: cluster.client.merging(cluster.mock == nil ? [:] : session) { $1 }
        )
        var options = try await PostgresServer.shared.migratedDatabase()
        options.sessionSettings = DeadLetterTable.sessionSettings
        self.options = options
        client = PostgresClient(options, connectionsMax: 4)
    }

    func writer(stage: String = "verify") -> DeadLetterWriter {
        let sample = Sample.context(stage: stage)
        return DeadLetterWriter(
            DeadLetterContext(
                cluster: sample.cluster,
                topic: topic.name,
                stage: stage,
                readsObservations: stage != "verify",
                worker: sample.worker,
                verifierVersion: sample.verifierVersion,
                configuration: sample.configuration
            )
        )
    }

    /// Letters of different sources, spread over the partitions by their keys.
    func letters(_ numbers: Range<Int>, _ refusal: Refusal = Sample.refusal) -> [ProducerRecord] {
        numbers.map { number in
            writer().letter(
                for: Sample.original(offset: Int64(number), key: Array("key\(number)".utf8)),
                refusal,
                value: .original
            )
        }
    }

    func send(_ records: [ProducerRecord]) async throws {
        let producer = try KafkaProducer(configuration: cluster.client)
        let report = await producer.send(records)
        await producer.close(deadline: .seconds(20))
        guard report.failures.isEmpty else { throw NotSent() }
    }

    struct NotSent: Error {}

    /// Indexes everything stored, and returns the events.
    @discardableResult
    func index(group: String = "index") async throws -> [DeadLetterIndexer.Event] {
        let before = events.all.count
        try await indexer(group: group).run(untilEnd: true)
        return Array(events.all.dropFirst(before))
    }

    func indexer(group: String = "index") -> DeadLetterIndexer {
        DeadLetterIndexer(
            topic,
            client: client,
            settings: .init(group: cluster.name(group)),
            report: events.add
        )
    }

    /// Runs the tool against topic and database.
    func tool(_ arguments: String..., isInteractive: Bool = false) async -> ToolRun {
        await tool(arguments, isInteractive: isInteractive)
    }

    func tool(_ arguments: [String], isInteractive: Bool = false) async -> ToolRun {
        await ToolRun(
            arguments + ["--kafka", cluster.bootstrapServers, "--prefix", prefix],
            environment: ["DATABASE_URL": options.connectionString, "USER": "anna"],
            isInteractive: isInteractive
        )
    }

    func count(_ query: DeadLetterQuery = DeadLetterQuery()) async throws -> Int {
        Int(try await DeadLetterCounts.count(query, on: client))
    }

    final class Events: Sendable {
        private let events = Mutex<[DeadLetterIndexer.Event]>([])

        var all: [DeadLetterIndexer.Event] { events.withLock { $0 } }

        @Sendable func add(_ event: DeadLetterIndexer.Event) {
            events.withLock { $0.append(event) }
        }
    }
}
