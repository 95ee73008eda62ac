import Foundation
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
    let settings: SettingsValues
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
        let file = BenchSettings(bootstrap: bootstrap, prefix: prefix, databaseURL: url, rootFile: root.path)
        let path = folder.appending(path: "settings.json")
        try Data(file.json).write(to: path)
        return PipelineRig(
            authority: authority, settings: try BenchSettings.read(path.path), kafka: kafka, layout: layout,
            database: database,
            workers: try RigWorker.start(copies: setup.copies, arguments: ["--config", path.path], logs: folder),
            postmaster: await server?.processID, server: server, folder: folder)
    }

    private static func createTopics(_ layout: TopicLayout, _ kafka: [String: String]) async throws {
        try await KafkaAdmin.lend(kafka) { admin in _ = try await TopicDeployment(admin, layout).run(isAltering: false)
        }
    }

    /// A server on its own defaults, and with the commit's time of every row for the latency.
    private static func startPostgres() async throws -> PrivatePostgres {
        var configuration = PrivatePostgres.Configuration()
        configuration.isDurable = true
        configuration.settings = ["track_commit_timestamp": "on", "wal_level": "replica", "max_wal_senders": "10"]
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

    /// Publishes a record for each index and waits until the broker has taken them all.
    func publish(
        _ indices: Range<Int>, to stage: StageDescription, _ record: (Int, _ topic: String) throws -> ProducerRecord
    ) async throws {
        let topic = layout.prefix + stage.inputTopic
        let producer = try KafkaProducer(configuration: kafka)
        var publisher = Publisher(producer, topic: topic)
        for index in indices { await publisher.add(try record(index, topic), origin: BodyOrigin("bench")) }
        let report = await publisher.finish()
        await producer.close(deadline: .seconds(10))
        if let failure = report.failures.first {
            throw BenchError("\(report.failedCount) records not published: \(failure.error)")
        }
    }

    /// Waits until a stage and all before it have committed whatever their topics hold.
    func waitUntilSettled(by last: StageDescription) async throws {
        try await KafkaAdmin.lend(kafka) { admin in
            for stage in Topology.stages {
                try await waitUntilSettled(by: stage, asking: admin)
                if stage == last { return }
            }
        }
    }

    private func waitUntilSettled(by stage: StageDescription, asking admin: KafkaAdmin) async throws {
        let count = try await admin.listOffsets(partitions(of: stage), deadline: .seconds(30)).values.reduce(0) {
            $0 + $1.high
        }
        try await waitUntilCommitted(count, of: stage, by: settings.group(stage), asking: admin)
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
                group: group, partitions(of: stage), deadline: .seconds(30))
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

    private func partitions(of stage: StageDescription) -> [TopicPartition] {
        (0..<layout.partitions).map { TopicPartition(topic: layout.prefix + stage.inputTopic, partition: $0) }
    }
}
