import Foundation
import Kafka
import KitWrappers
import Records
import Settings
import Simulation
import Synchronization
import Telemetry
import TestSupport
import Topology
import VerifyStage
import Worker

/// A `verify-worker` in this process, on a mock cluster and with a settings file that a test
/// rewrites while it runs.
final class VerifyRig: Sendable {
    static let bundleID = "com.example.pro"

    let log = RecordingLogHandler(level: .info)
    let service: WorkerService
    let cluster: KafkaCluster
    let prefix: String
    let folder: URL
    private let producer: KafkaProducer
    private let watchInterval: Duration
    private let extra: String
    private let running = Mutex<Task<Void, any Error>?>(nil)

    /// - Parameters:
    ///   - apps: the JSON of the setting `apps`.
    ///   - extra: members of the settings file beside those of every test, each with its comma.
    ///   - files: the files beside the settings file, by name.
    init(
        apps: (_ folder: String) -> String, extra: String = "", files: [String: [UInt8]] = [:],
        watchInterval: Duration = .milliseconds(100)
    ) async throws {
        cluster = try await KafkaCluster(.mock)
        prefix = cluster.name("test") + "."
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        producer = try KafkaProducer(configuration: cluster.client)
        self.watchInterval = watchInterval
        self.extra = extra
        for topic in ["raw", "verified", "dead-letter"] { try cluster.mock?.createTopic(prefix + topic, partitions: 1) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (name, bytes) in files { try Data(bytes).write(to: folder.appending(path: name)) }
        let path = folder.appending(path: "settings.json").path
        let first = Self.settings(cluster, prefix, apps(folder.path), extra, watchInterval)
        try Data(first.utf8).write(to: URL(filePath: path))
        let source = SettingsSource(
            schema: WorkerProgram.verify.schema, environment: [:], filePath: path,
            problems: { WorkerProcess.problems(.verify, $0) })
        service = try WorkerService(.verify, source.read(), from: source, log: log)
        let service = service
        running.withLock { $0 = Task { try await service.run() } }
    }

    private static func settings(
        _ cluster: KafkaCluster, _ prefix: String, _ apps: String, _ extra: String, _ interval: Duration
    ) -> String {
        """
        {"kafka": {"bootstrap": "\(cluster.bootstrapServers)", "topic_prefix": "\(prefix)",
         "group_prefix": "\(prefix)", "session_timeout": "4s"},
         "http": {"port": 0}, "settings": {"watch_interval": "\(interval / .milliseconds(1))ms"},
         "retry": {"delay_min": "20ms", "delay_max": "100ms"}, \(extra)
         "apps": \(apps)}
        """.replacing(".0ms", with: "ms")
    }

    /// Replaces the whole settings file, as an editor does.
    func rewrite(apps: (_ folder: String) -> String, extra: String? = nil, prefix: String? = nil) throws {
        let text = Self.settings(cluster, prefix ?? self.prefix, apps(folder.path), extra ?? self.extra, watchInterval)
        try replace("settings.json", Array(text.utf8))
    }

    func replace(_ file: String, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: folder.appending(path: file), options: .atomic)
    }

    func publish(_ bodies: [[UInt8]]) async throws {
        try await send(bodies.map { ProducerRecord(topic: prefix + "raw", value: $0) })
    }

    func send(_ records: [ProducerRecord]) async throws {
        let report = await producer.send(records)
        if let failure = report.failures.values.first { throw failure }
    }

    /// Number of records that ended with a disposition, by the worker's own count.
    func settled(_ disposition: Disposition) -> Int {
        Int(metric("entitlements_records_total{disposition=\"\(disposition.name)\"") ?? 0)
    }

    /// The value of the first series whose line begins so; the common label may be in it too.
    func metric(_ start: String) -> Double? {
        let text = String(decoding: service.metrics.exposition(), as: UTF8.self).replacing(
            "stage=\"verify\",", with: ""
        ).replacing(",stage=\"verify\"", with: "").replacing("{stage=\"verify\"}", with: "")
        let line = text.split(separator: "\n").first { $0.hasPrefix(start) }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Double($0) }
    }

    func stop() async throws {
        service.stop()
        try await running.withLock { $0 }?.value
        await producer.close(deadline: .seconds(1))
        cluster.mock?.stop()
        try FileManager.default.removeItem(at: folder)
    }
}
