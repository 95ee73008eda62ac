import Foundation
import Kafka
import KitWrappers
import Operations
import Postgres
import Records
import Settings
import Simulation
import Synchronization
import TestSupport
import Testing
import Topology
import Worker

@testable import Demonstration

/// A test's pipeline, with topics, groups and a database of its own, and the workers that it
/// starts.
final class RunningPipeline: Sendable {
    let setup: PipelineSetup
    let traffic: DemoTraffic
    let cluster: KafkaCluster
    let layout: TopicLayout
    let database: PostgresOptions
    let folder: String
    let admin: KafkaAdmin
    /// The settings of `pipeline reconcile`.
    let settings: SettingsValues
    private let producer: KafkaProducer
    private let state = Mutex(State())

    private struct State {
        var copies: [WorkerCopy] = []
        var started: [StageDescription: Int] = [:]
        var published: [ProducerRecord] = []
        var itemsPublished = 0
    }

    /// Makes everything that exists before the first worker starts.
    init(_ setup: PipelineSetup, _ traffic: DemoTraffic) async throws {
        self.setup = setup
        self.traffic = traffic
        if let own = setup.ownCluster { cluster = own } else { cluster = try await KafkaCluster(setup.kafka) }
        layout = TopicLayout(prefix: cluster.name("test") + ".", partitions: setup.partitions)
        database = try await TestDatabase.make(
            for: traffic, on: setup.ownServer, named: setup.database, schemaVersion: setup.schemaVersion)
        folder = FileManager.default.temporaryDirectory.appending(path: "pipeline-test-\(UUID().uuidString)").path
        // Takes larger records than the workers ever write.
        let large = ["message.max.bytes": "20000000", "queue.buffering.max.kbytes": "65536"]
        // Notices that brokers are back before the workers do, and so measures their delay.
        let prompt = ["reconnect.backoff.max.ms": "500"]
        admin = try KafkaAdmin(configuration: cluster.client.merging(prompt) { $1 })
        let isReal = cluster.mock == nil
        producer = try KafkaProducer(
            configuration: cluster.client.merging(large) { $1 }, isUncompressed: { isReal && Topic.isUncompressed($0) })
        settings = try SettingsSchema([
            KafkaSettings.bootstrap.declaration, KafkaSettings.topicPrefix.declaration,
            KafkaSettings.groupPrefix.declaration,
        ]).read(environment: [
            "KAFKA_BOOTSTRAP": cluster.bootstrapServers, "KAFKA_TOPIC_PREFIX": layout.prefix,
            "KAFKA_GROUP_PREFIX": layout.prefix,
        ])
        if setup.makesTopics { try await makeTopics() }
        try writeSettings()
    }

    func makeTopics() async throws {
        if let mock = cluster.mock {
            for plan in layout.plans { try mock.createTopic(plan.name, partitions: Int(plan.partitions)) }
            return
        }
        let topics = layout.plans.map { plan in
            var configuration = plan.configuration
            let topic = String(plan.name.dropFirst(layout.prefix.count))
            if let bytes = setup.recordBytesMax[topic] { configuration["max.message.bytes"] = String(bytes) }
            if topic == Topic.raw, let codec = setup.rawCodec { configuration["compression.type"] = codec }
            return NewTopic(
                name: plan.name, partitions: Int(plan.partitions), replication: 1, configuration: configuration)
        }
        let failures = try await admin.createTopics(topics, deadline: .hopeless)
        if let failure = failures.first { throw failure.value }
    }

    private var settingsPath: String { "\(folder)/settings.json" }

    private func writeSettings() throws {
        let files = FileManager.default
        try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let root = "\(folder)/root.pem"
        let demo = DemoSettings(
            bootstrap: cluster.bootstrapServers, prefix: layout.prefix, databaseURL: database.connectionString,
            apps: traffic.apps, rootFile: root, codec: cluster.mock == nil ? nil : "lz4")
        _ = files.createFile(atPath: root, contents: Data(traffic.rootPEM.utf8))
        _ = files.createFile(atPath: settingsPath, contents: Data(demo.json))
    }

    private func environment(of name: String, _ stage: StageDescription) -> [String: String] {
        let inherited = ProcessInfo.processInfo.environment.filter { name, _ in
            ["HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "TMPDIR"].contains(name)
        }
        let milliseconds = Int(setup.sessionTimeout / .milliseconds(1))
        var own = [
            // The backtracer of a killed process can hang without end.
            "SWIFT_BACKTRACE": "enable=no", "KAFKA_SESSION_TIMEOUT": "\(milliseconds)ms", "RETRY_DELAY_MAX": "1s",
        ]
        if setup.hasStaticMembers { own["KAFKA_INSTANCE_ID"] = name }
        return inherited.merging(own) { $1 }.merging(setup.rules.environment) { $1 }.merging(setup.environment) { $1 }
            .merging(setup.environmentOf[stage] ?? [:]) { $1 }
    }
}

extension RunningPipeline {
    /// Starts one more copy of a worker.
    ///
    /// - Parameters:
    ///   - place: of a static member, which keeps it over its restarts.
    ///   - programs: the folder of the executables.
    ///   - settings: of this copy alone, by environment name.
    @discardableResult func start(
        _ stage: StageDescription, place: Int = 1, programs: String = BuiltWorkers.folder,
        environment settings: [String: String] = [:]
    ) throws -> WorkerCopy {
        let number = state.withLock { state in
            state.started[stage, default: 0] += 1
            return state.started[stage, default: 0]
        }
        let copy = try WorkerCopy(
            stage, name: "\(stage.name)-\(number)", programs: programs, settings: settingsPath, folder: folder,
            environment: environment(of: "\(stage.name)-place-\(place)", stage).merging(settings) { $1 })
        state.withLock { $0.copies.append(copy) }
        return copy
    }

    @discardableResult func startAll() throws -> [StageDescription: WorkerCopy] {
        try Dictionary(uniqueKeysWithValues: Topology.stages.map { ($0, try start($0)) })
    }

    /// Every copy that was started and not ended on purpose.
    var copies: [WorkerCopy] { state.withLock(\.copies) }

    /// Ends a copy by `kill -9`.
    func kill(_ copy: WorkerCopy) async throws {
        copy.process.kill()
        try await copy.process.waitForEnd(deadline: .hopeless)
        forget(copy)
    }

    /// Ends a copy by a signal, and fails if it does not end in order.
    func stop(_ copy: WorkerCopy) async throws {
        let end = try await copy.process.stop(grace: .hopeless)
        #expect(end == .exited(code: 0), "\(copy.name): \(copy.log.lines.suffix(3))")
        forget(copy)
    }

    /// Forgets a copy that has ended on purpose.
    private func forget(_ copy: WorkerCopy) { state.withLock { $0.copies.removeAll { $0.name == copy.name } } }

    /// Stops every copy, all at once.
    ///
    /// - Returns: those that did not end in order, with their last words.
    func endsOfAll() async throws -> [String] {
        let copies = copies
        copies.forEach { $0.process.terminate() }
        var failed: [String] = []
        for copy in copies {
            let end = try await copy.process.stop(grace: .hopeless)
            if end != .exited(code: 0) { failed.append("\(copy.name) \(end): \(copy.log.lines.suffix(3))") }
            forget(copy)
        }
        return failed
    }

    /// Fails when a copy has ended by itself.
    func requireRunning() throws {
        guard let ended = copies.first(where: { !$0.process.isRunning }) else { return }
        throw PipelineFailure(
            "\(ended.name) has ended (\(String(describing: ended.process.end))): "
                + ended.log.lines.suffix(5).joined(separator: "\n"))
    }

    /// Waits until every copy is ready.
    func waitUntilReady(within deadline: Duration = .seconds(60)) async throws {
        let isReady = try await becomesTrue(within: deadline, every: .milliseconds(100)) {
            try requireRunning()
            return copies.allSatisfy(\.isReady)
        }
        guard !isReady else { return }
        let waiting = copies.filter { !$0.isReady }.map { copy in
            "\(copy.name): \(copy.get("/readyz")?.text ?? "does not answer")"
        }
        throw PipelineFailure("not ready after \(deadline): \(waiting.joined(separator: "\n"))")
    }
}

extension RunningPipeline {
    /// Everything that was published so far.
    var published: [ProducerRecord] { state.withLock(\.published) }

    /// Publishes the next part of the traffic, up to a share of the whole.
    func publish(upTo share: Double) async throws {
        let end = Int(Double(traffic.items.count) * share)
        let next = state.withLock { state in
            defer { state.itemsPublished = max(state.itemsPublished, end) }
            return state.itemsPublished..<max(state.itemsPublished, end)
        }
        try await publish(traffic.items[next])
    }

    func publish(_ items: some Collection<DemoItem>) async throws {
        try await publish(items.map { ProducerRecord($0, topic: layout.prefix + Topic.raw) })
    }

    /// Publishes and waits until the broker has taken everything.
    func publish(_ records: [ProducerRecord]) async throws {
        let report = await producer.send(records)
        if let failure = report.failures.values.first { throw failure }
        state.withLock { $0.published += records }
    }

    func reconciliation() async throws -> Reconciliation { try await AccountReader(admin, settings).read() }

    /// The accounts of the workers' stages; the index of dead letters does not run.
    func workerAccounts() async throws -> [StageAccount] {
        try await reconciliation().stages.filter { Topology.stages.contains($0.stage) }
    }

    /// Waits until every stage has settled everything.
    @discardableResult func settle(within deadline: Duration = .seconds(400)) async throws -> Reconciliation {
        var waiting = DemoSettling(bodyCount: published.count)
        var last: Reconciliation?
        let isOver = try await becomesTrue(within: deadline, every: .milliseconds(150)) {
            try requireRunning()
            let reconciliation = try await reconciliation()
            last = reconciliation
            return try waiting.isOver(reconciliation, at: .now)
        }
        guard isOver, let last else { throw PipelineFailure("the workers did not come to an end") }
        return last
    }

    /// All records of a topic, which is named without its prefix.
    func records(of topic: String) async throws -> [ConsumerRecord] {
        try await TopicReader(cluster.client).records(of: layout.prefix + topic)
    }

    func waitUntilPublished() async throws {
        let isOver = try await becomesTrue(within: .seconds(120), every: .milliseconds(100)) {
            try await withDatabase { connection in
                try await connection.query("SELECT count(*) FROM unpublished_changes")[0].int8(0)
            } == 0
        }
        guard isOver else { throw PipelineFailure("the change feed was not published") }
    }

    func withDatabase<T>(_ body: (PostgresConnection) async throws -> T) async throws -> T {
        try await PostgresConnection.lend(database, body)
    }

    /// Executes statements on the pipeline's database.
    func execute(_ script: String) async throws { try await withDatabase { try await $0.execute(script: script) } }

    /// Ends everything that is left, in any state.
    func close() async {
        for copy in copies {
            copy.process.kill()
            _ = try? await copy.process.waitForEnd(deadline: .hopeless)
        }
        await producer.close(deadline: .seconds(1))
        await admin.close()
        if setup.ownCluster == nil { cluster.mock?.stop() }
    }
}
