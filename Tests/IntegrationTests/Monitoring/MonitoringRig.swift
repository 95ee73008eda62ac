import Operations
import Platform
import Postgres
import Entitlements
import Foundation
import Kafka
import Records
import Simulation
import Synchronization
import TestSupport
import Testing
import Topology

/// The five workers under Prometheus' eyes, on servers of their own.
final class MonitoringRig: Sendable {
    let pipeline: RunningPipeline
    let server: PrivatePostgres
    let broker: OwnBroker
    let apple: SimulatedApple
    let prometheus: Prometheus
    /// A second authority whose root the workers trust, with responders of its own.
    let authority: RevocableAuthority
    /// The settings file at the start.
    let settingsText: String
    private let held = Mutex(Held())

    /// Resources that faults hold until their repair.
    struct Held {
        var locks: [PostgresConnection] = []
        var responders: [OCSPServer] = []
        fileprivate var numbers: Int64 = 0
    }

    /// Starts all and waits until the traffic is settled, and scraped several times.
    init() async throws {
        let traffic = try DemoTraffic(seed: 5, bodyCount: 400)
        server = try await PrivatePostgres.start()
        broker = try await OwnBroker.start(.mock)
        apple = try SimulatedApple(traffic)
        var setup = PipelineSetup(.mock)
        setup.ownServer = server
        setup.ownCluster = broker.cluster
        setup.environment = ["SETTINGS_WATCH_INTERVAL": "500ms"]
        setup.rules = OwnershipRules(trustsIngestion: true)
        pipeline = try await RunningPipeline(setup, traffic)
        authority = try RevocableAuthority()
        try (traffic.rootPEM + authority.authority.rootPEM).write(
            toFile: "\(pipeline.folder)/root.pem", atomically: true, encoding: .utf8)
        settingsText = try String(contentsOfFile: "\(pipeline.folder)/settings.json", encoding: .utf8)
        prometheus = try Prometheus(try MonitoringFiles.shortenedRules(), in: pipeline.folder)
        try pipeline.startAll()
        try await pipeline.waitUntilReady()
        try prometheus.scrape(pipeline.copies)
        try await pipeline.publish(traffic.items)
        try await pipeline.settle()
        try pipeline.start(.recovery, environment: apple.environment.merging(["RECOVERY_MISSED_INTERVAL": "5s"]) { $1 })
        try pipeline.start(.deadLetterIndex)
        try await pipeline.waitUntilReady()
        try prometheus.scrape(pipeline.copies)
        _ = try await run("pipeline reconcile --metrics \(prometheus.metricsFile)")
        _ = try await run("dead-letter index --until-end")
        _ = try await run("dead-letter count --metrics \(prometheus.lettersFile)")
        for task in Prometheus.tasks { try await perform(task) }
        await eventually(within: .seconds(120), every: .milliseconds(250), "scraped") {
            (Topology.stages + [.recovery, .deadLetterIndex]).allSatisfy { stage in
                let series = #"entitlements_lag_seconds{stage="\#(stage.name)"}"#
                let count = prometheus.query("count_over_time(\(series)[1m])")?.first?.value
                return count ?? 0 >= 4
            } && prometheus.query("entitlements_reconcile_problems")?.isEmpty == false
                && prometheus.query("entitlements_task_success_timestamp_seconds > 0")?.count == Prometheus.tasks.count
                && prometheus.query("entitlements_dead_letter_open_records")?.isEmpty == false
                && prometheus.query("min(entitlements_recovery_progress_ratio) == 1")?.isEmpty == false
                && prometheus.query("entitlements_recovery_open_notifications == 0")?.isEmpty == false
        }
    }

    /// Runs a rig, and ends all of it in any case.
    static func run(_ body: (MonitoringRig) async throws -> Void) async throws {
        let rig = try await MonitoringRig()
        try await closing {
            await rig.close()
        } after: {
            try await body(rig)
        }
    }

    var settingsPath: String { "\(pipeline.folder)/settings.json" }

    func holding<T: Sendable>(_ change: (inout sending Held) -> T) -> T { held.withLock { change(&$0) } }

    /// A number that no other fault has.
    func nextNumber() -> Int64 {
        held.withLock { held in
            held.numbers += 1
            return held.numbers
        }
    }

    private func close() async {
        await unlock()
        try? await stopResponders()
        await prometheus.stop()
        await pipeline.close()
        await broker.remove()
        apple.stop()
        try? await server.remove()
        pipeline.removeFolder()
    }

    /// Runs a command line as an operator would, in the folder of the settings.
    func run(_ line: String, _ variables: [String: String] = [:]) async throws -> (exitCode: Int32?, output: String) {
        let path = "\(pipeline.folder)/\(UUID().uuidString).txt"
        let own = [
            "PATH": "\(BuiltWorkers.folder):/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no",
            // The user's name, for the history.
            "LOGNAME": "operator", "KAFKA_BOOTSTRAP": pipeline.cluster.bootstrapServers,
            "KAFKA_TOPIC_PREFIX": pipeline.layout.prefix, "KAFKA_GROUP_PREFIX": pipeline.layout.prefix,
            "HTTP_PORT": "0", "DATABASE_URL": pipeline.database.connectionString,
        ]
        let inherited = ProcessInfo.processInfo.environment.filter { name, _ in
            ["HOME", "LANG", "LD_LIBRARY_PATH", "TMPDIR"].contains(name)
        }
        let process = try ChildProcess(
            executable: "/bin/bash", arguments: ["-c", "cd \(pipeline.folder) && \(line)"],
            environment: inherited.merging(own) { $1 }.merging(variables) { $1 }, standardOutput: .file(path: path),
            standardError: .file(path: path))
        defer { process.kill() }
        let end = try await process.waitForEnd(deadline: .hopeless)
        let output = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        guard case .exited(let code) = end else { return (nil, output) }
        return (code, output)
    }
}
