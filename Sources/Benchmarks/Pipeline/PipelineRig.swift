import Foundation
import Kafka
import OpenSSL
import Operations
import Postgres
import Settings
import Simulation
import Store
import Topology
import Worker

/// Everything that one run of `bench pipeline` or `bench dedupe` measures on, and the end of it.
final class PipelineRig: Sendable {
    let authority: CertificateAuthority
    let settings: SettingsValues
    let kafka: [String: String]
    let layout: TopicLayout
    let database: PostgresOptions
    let workers: [StageDescription: ChildProcess]
    /// Of a server of our own; nil for one that was there.
    let postmaster: Int32?
    private let server: PrivatePostgres?
    private let folder: URL

    private init(
        authority: CertificateAuthority,
        settings: SettingsValues,
        kafka: [String: String],
        layout: TopicLayout,
        database: PostgresOptions,
        workers: [StageDescription: ChildProcess],
        server: PrivatePostgres?,
        postmaster: Int32?,
        folder: URL
    ) {
        self.authority = authority
        self.settings = settings
        self.kafka = kafka
        self.layout = layout
        self.database = database
        self.workers = workers
        self.server = server
        self.postmaster = postmaster
        self.folder = folder
    }

    /// - Parameters:
    ///   - bootstrap: a Kafka that is there.
    ///   - postgres: a database to fill; nil starts a server for it.
    ///   - stages: whose workers run.
    static func build(
        bootstrap: String,
        postgres: String? = nil,
        _ setup: PipelineOptions.Setup,
        stages: [StageDescription] = Topology.stages,
        console: Console
    ) async throws -> PipelineRig {
        let prefix = "bench-\(String(UInt32.random(in: .min ... .max), radix: 16))."
        let layout = TopicLayout(prefix: prefix, partitions: Int32(setup.partitions))
        let kafka = ["bootstrap.servers": bootstrap, "client.id": "bench"]
        try await createTopics(layout, kafka)
        let server = postgres == nil ? try await startPostgres(isTuned: setup.isTuned) : nil
        let url = postgres ?? server?.connectionString() ?? ""
        let database = PostgresOptions(connectionString: url, applicationName: "bench")
        try await prepare(database, storedCount: setup.storedCount, console: console)
        let authority = try CertificateAuthority()
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let root = folder.appending(path: "root.pem")
        try authority.rootPEM.write(to: root, atomically: true, encoding: .utf8)
        let file = BenchSettings(
            bootstrap: bootstrap,
            prefix: prefix,
            databaseURL: url,
            rootFile: root.path
        )
        let path = folder.appending(path: "settings.json")
        try Data(file.json).write(to: path)
        return PipelineRig(
            authority: authority,
            settings: try BenchSettings.read(path.path),
            kafka: kafka,
            layout: layout,
            database: database,
            workers: try startWorkers(stages, path.path, logs: folder),
            server: server,
            postmaster: await server?.processID,
            folder: folder
        )
    }

    private static func createTopics(_ layout: TopicLayout, _ kafka: [String: String]) async throws
    {
        let admin = try KafkaAdmin(configuration: kafka)
        _ = try await TopicDeployment(admin, layout).run(isAltering: false)
        await admin.close()
    }

    /// A server on its own defaults, and with the commit's time of every row for the latency.
    private static func startPostgres(isTuned: Bool) async throws -> PrivatePostgres {
        var configuration = PrivatePostgres.Configuration()
        configuration.isDurable = true
        configuration.settings = [
            "track_commit_timestamp": "on", "wal_level": "replica", "max_wal_senders": "10",
        ]
        if isTuned {
            configuration.settings["shared_buffers"] = "256MB"
            configuration.settings["max_wal_size"] = "4GB"
        }
        return try await PrivatePostgres.start(configuration)
    }

    private static func prepare(
        _ database: PostgresOptions,
        storedCount: Int,
        console: Console
    ) async throws {
        let migrations = try MigrationFolder.find(
            environment: ProcessInfo.processInfo.environment
        ).migrations()
        let connection = try await PostgresConnection.connect(database)
        _ = try await Migrator(migrations).run(on: connection)
        _ = try await CatalogTable.apply(Array(BenchTransaction.catalog.utf8), on: connection)
        if storedCount > 0 {
            console.note("storing \(Quantity.grouped(storedCount)) facts")
            try await StoredFacts.insert(storedCount, on: connection)
        }
        await connection.close()
    }

    private static func startWorkers(
        _ stages: [StageDescription],
        _ settings: String,
        logs: URL
    ) throws -> [StageDescription: ChildProcess] {
        let executables = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        // Properties of librdkafka go on to the workers, so that they can be tuned by measuring.
        let properties = ProcessInfo.processInfo.environment
            .filter { name, _ in name.hasPrefix("RDKAFKA_") }
        let environment = properties.merging(["PATH": "/usr/bin:/bin", "HTTP_PORT": "0"]) { $1 }
        return try Dictionary(
            uniqueKeysWithValues: stages.map { stage in
                let log = logs.appending(path: "\(stage.program).log").path
                let process = try ChildProcess(
                    executable: executables.appending(path: stage.program).path,
                    arguments: ["--config", settings],
                    environment: environment,
                    standardOutput: .file(path: log),
                    standardError: .file(path: log)
                )
                return (stage, process)
            }
        )
    }

    /// Fails when a worker has ended.
    func requireRunning() throws {
        for (stage, process) in workers where !process.isRunning {
            let log = folder.appending(path: "\(stage.program).log")
            let words = (try? String(contentsOf: log, encoding: .utf8))?.suffix(2_000) ?? ""
            throw BenchError("\(stage.program) has ended:\n\(words)")
        }
    }

    func remove() async {
        for process in workers.values {
            _ = try? await process.stop(grace: .seconds(30))
        }
        if let admin = try? KafkaAdmin(configuration: kafka) {
            _ = try? await admin.deleteTopics(layout.plans.map(\.name), deadline: .seconds(15))
            await admin.close()
        }
        try? await server?.remove()
        try? FileManager.default.removeItem(at: folder)
    }
}

/// What goes into a rig, and how one sees that it has come out.
extension PipelineRig {
    private static let standstillMax = Duration.seconds(60)

    /// Publishes a record for each index and waits until the broker has taken them all.
    func publish(
        _ indices: Range<Int>,
        to stage: StageDescription,
        _ record: (Int, _ topic: String) throws -> ProducerRecord
    ) async throws {
        let topic = layout.prefix + stage.inputTopic
        let producer = try KafkaProducer(configuration: kafka)
        var publisher = Publisher(producer, topic: topic)
        for index in indices {
            await publisher.add(try record(index, topic), origin: "bench")
        }
        let report = await publisher.finish()
        await producer.close(deadline: .seconds(10))
        if let failure = report.failures.first {
            throw BenchError("\(report.failedCount) records not published: \(failure.error)")
        }
    }

    /// Waits until a stage has committed so many records.
    func waitUntilSettled(_ count: Int, by stage: StageDescription) async throws {
        let admin = try KafkaAdmin(configuration: kafka)
        defer { Task { await admin.close() } }
        let topic = layout.prefix + stage.inputTopic
        let partitions = (0..<layout.partitions).map {
            TopicPartition(topic: topic, partition: $0)
        }
        var last: Int64 = -1
        var lastMove = ContinuousClock.now
        while true {
            try requireRunning()
            let committed = try await admin.committedOffsets(
                group: settings.group(stage),
                partitions,
                deadline: .seconds(30)
            )
            let settled = committed.values.reduce(0) { $0 + ($1.offset ?? 0) }
            if settled >= count { return }
            if settled != last {
                (last, lastMove) = (settled, .now)
            } else if ContinuousClock.now - lastMove > Self.standstillMax {
                throw BenchError("only \(settled) of \(count) records were settled")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
