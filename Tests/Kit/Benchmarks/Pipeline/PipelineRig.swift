import Commands
import Foundation
import JSON
import Kafka
import OpenSSL
import Operations
import Postgres
import Records
import Settings
import Simulation
import Store
import Topology
import Worker

/// Everything that one run of `bench pipeline` measures on, and the end of it.
struct PipelineRig {
    let authority: CertificateAuthority
    let kafka: [String: String]
    let layout: TopicLayout
    let database: PostgresOptions
    /// The copies of each stage's worker.
    let workers: [StageDescription: [RigWorker]]
    /// The postmaster of a server that the rig has started.
    ///
    /// `nil` for one that was there.
    let postmaster: Int32?
    private let server: PrivatePostgres?
    private let folder: URL

    private static let rootFileName = "root.pem"

    /// The root certificate of `authority`.
    var rootFile: URL { folder.appending(path: Self.rootFileName) }

    /// - Parameters:
    ///   - bootstrap: a Kafka that is there.
    ///   - postgres: a database to fill; nil starts a server for it.
    static func build(bootstrap: String, postgres: String?, _ setup: PipelineOptions.Setup, console: Console)
        async throws -> PipelineRig
    {
        let prefix = "bench-\(String(UInt32.random(in: .min ... .max), radix: 16))."
        let layout = TopicLayout(prefix: prefix, partitions: Int32(setup.partitions))
        let kafka = ["bootstrap.servers": bootstrap, "client.id": "bench"]
        try await createTopics(layout, kafka)
        let server = postgres == nil ? try await startPostgres() : nil
        let url = postgres ?? server?.connectionString() ?? ""
        let database = PostgresOptions(connectionString: url, applicationName: "bench")
        try await prepare(database)
        console.note("linking account tokens")
        try await BenchDatabase.link(BenchTraffic.users, in: database)
        let authority = try CertificateAuthority()
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let root = folder.appending(path: rootFileName)
        try authority.rootPEM.write(to: root, atomically: true, encoding: .utf8)
        let path = folder.appending(path: "settings.json")
        try Data(settings(kafka: bootstrap, prefix: prefix, database: url, root: root.path)).write(to: path)
        return PipelineRig(
            authority: authority, kafka: kafka, layout: layout, database: database,
            workers: try RigWorker.start(copies: setup.copies, arguments: ["--config", path.path], logs: folder),
            postmaster: await server?.processID, server: server, folder: folder)
    }

    /// The settings file of the measured workers: the defaults, and the addresses of the run.
    private static func settings(kafka: String, prefix: String, database: String, root: String) -> [UInt8] {
        let content: JSONContent = [
            "kafka": ["bootstrap": kafka, "topic_prefix": prefix, "group_prefix": prefix] as JSONContent,
            "database": ["url": database] as JSONContent, "linking": ["mode": "links"] as JSONContent,
            "apps": [
                [
                    "bundle_id": BenchTransaction.bundleID, "environment": "Production",
                    "app_apple_id": BenchTransaction.appAppleID, "roots": [root], "test_root_in_production": true,
                ] as JSONContent
            ],
        ]
        return content.bytes
    }

    private static func createTopics(_ layout: TopicLayout, _ kafka: [String: String]) async throws {
        try await KafkaAdmin.lend(kafka) { admin in _ = try await TopicDeployment(admin, layout).run(isAltering: false)
        }
    }

    /// A server with the lock memory of sizing.md, and with the commit's time of every row for the latency.
    private static func startPostgres() async throws -> PrivatePostgres {
        var configuration = PrivatePostgres.Configuration()
        configuration.isDurable = true
        configuration.settings = [
            "track_commit_timestamp": "on", "wal_level": "replica", "max_wal_senders": "10",
            "max_locks_per_transaction": "256",
        ]
        return try await PrivatePostgres.start(configuration)
    }

    private static func prepare(_ database: PostgresOptions) async throws {
        let migrations = try MigrationFolder.find().migrations()
        try await PostgresConnection.lend(database) { connection in
            _ = try await Migrator(migrations).run(on: connection)
            _ = try await CatalogTable.apply(json: Array(BenchTransaction.catalog.utf8), on: connection)
        }
    }

    func remove() async {
        for worker in workers.values.joined() { _ = try? await worker.process.stop(grace: .seconds(30)) }
        if let admin = try? KafkaAdmin(configuration: kafka) {
            _ = try? await admin.deleteTopics(layout.plans.map(\.name), deadline: .seconds(15))
            await admin.close()
        }
        try? await server?.remove()
        try? FileManager.default.removeItem(at: folder)
    }
}

/// The workers of a rig, by stage.
extension PipelineRig {
    private static let assignmentMax = Duration.seconds(60)

    /// Waits until every copy that can have partitions has some, and all partitions are taken.
    func waitUntilAssigned() async throws {
        let end = ContinuousClock.now + Self.assignmentMax
        for copies in workers.values {
            while true {
                try requireRunning()
                let counts = copies.map { $0.metrics()?.assignedPartitions ?? 0 }
                let sum = Int(layout.partitions)
                let busy = min(copies.count, sum)
                if counts.reduce(0, +) == sum, counts.count(where: { $0 > 0 }) == busy { break }
                guard ContinuousClock.now < end else {
                    throw BenchError("the partitions of \(copies.count) copies were not assigned")
                }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    func signal(_ number: Int32, to stage: StageDescription) { workers[stage]?.forEach { $0.process.signal(number) } }

    /// Processor time of all copies so far.
    var cpuMicroseconds: [StageDescription: Double] {
        workers.mapValues { copies in
            copies.reduce(0) { $0 + (ProcessUsage.cpuMicroseconds($1.process.processID) ?? .nan) }
        }
    }

    /// The most that was ever resident in a copy.
    var residentBytesMax: [StageDescription: Int] {
        workers.compactMapValues { copies in
            copies.compactMap { ProcessUsage.residentBytesMax($0.process.processID) }.max()
        }
    }

    /// The activity of all copies so far, from their metrics.
    var activity: [StageDescription: WorkerActivity] {
        workers.mapValues { copies in
            copies.reduce(into: WorkerActivity()) { sum, worker in sum += worker.metrics()?.activity ?? WorkerActivity()
            }
        }
    }

    /// Fails when a worker has ended.
    func requireRunning() throws {
        for (stage, copies) in workers {
            for worker in copies where !worker.process.isRunning {
                throw BenchError("\(stage.program) has ended:\n\(worker.endOfLog)")
            }
        }
    }
}

/// Publishing into a rig, and waiting for the results.
extension PipelineRig {
    private static let standstillMax = Duration.seconds(60)

    /// A record of the raw topic.
    func record(_ body: [UInt8]) -> ProducerRecord {
        ProducerRecord(topic: layout.prefix + Topic.raw, key: nil, value: body, headers: [])
    }

    /// Publishes the mixed traffic at these positions and waits until the broker has taken it all.
    func publish(_ indices: Range<Int>) async throws {
        let producer = try KafkaProducer(configuration: kafka)
        var publisher = Publisher(producer, topic: layout.prefix + Topic.raw)
        for index in indices {
            await publisher.add(record(try BenchTraffic.body(index, authority)), origin: BodyOrigin("bench"))
        }
        let report = await publisher.finish()
        await producer.close(deadline: .seconds(10))
        if let failure = report.failures.first {
            throw BenchError("\(report.failedCount) records not published: \(failure.error)")
        }
    }

    /// Waits until each stage in turn has committed all records of its topic.
    func waitUntilSettled() async throws {
        try await KafkaAdmin.lend(kafka) { admin in
            for stage in Topology.stages {
                let ends = try await admin.listOffsets(partitions(of: stage.inputTopic), deadline: .seconds(30))
                let count = ends.values.reduce(0) { $0 + $1.high }
                try await waitUntilCommitted(count, of: stage, by: layout.prefix + stage.name, asking: admin)
            }
        }
    }

    /// Waits until a group has committed so many records of a stage's topic.
    ///
    /// - Parameter check: throws if the group's program has ended.
    func waitUntilCommitted(
        _ count: Int64, of stage: StageDescription, by group: String, asking admin: KafkaAdmin,
        check: () throws -> Void = {}
    ) async throws {
        var last: Int64 = -1
        var lastMove = ContinuousClock.now
        while true {
            try requireRunning()
            let committed = try await admin.committedOffsets(
                group: group, partitions(of: stage.inputTopic), deadline: .seconds(30))
            let settled = committed.values.reduce(0) { $0 + ($1.offset ?? 0) }
            if settled >= count { return }
            try check()
            if settled != last {
                (last, lastMove) = (settled, .now)
            } else if ContinuousClock.now - lastMove > Self.standstillMax {
                throw BenchError("only \(settled) of \(count) records were settled")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// The partitions of a topic that is named without the rig's prefix.
    func partitions(of topic: String) -> [TopicPartition] {
        (0..<layout.partitions).map { TopicPartition(topic: layout.prefix + topic, partition: $0) }
    }
}
