import DedupeStage
import Foundation
import Kafka
import KitWrappers
import Postgres
import Settings
import Simulation
import Telemetry
import TestSupport
import Testing
import Worker

/// A worker whose database password is replaced in its file.
@Suite(.timeLimit(.minutes(10))) struct SecretReloadTests {
    private static let taken = "settings reloaded"
    private static let refused = "reloaded settings invalid, previous settings stay in force"

    @Test func `a password counts as applied once a log-in by it has worked`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let cluster = try await KafkaCluster(.mock)
        for topic in ["verified", "unique", "dead-letter", "outcomes"] {
            try cluster.mock?.createTopic(topic, partitions: 1)
        }
        let client = try await StageDatabase.make()
        let role = "rotating_\(UInt32.random(in: 0...UInt32.max))"
        try await client.withConnection {
            try await $0.execute(script: "CREATE ROLE \(role) SUPERUSER LOGIN PASSWORD 'first'")
        }
        let database = try await client.query("SELECT current_database()::text")[0].text(0)
        let port = try await PostgresServer.shared.server().port
        let password = folder.appending(path: "password")
        func write(_ text: String) throws { try Data(text.utf8).write(to: password, options: .atomic) }
        try write("first")
        let settings = folder.appending(path: "settings.json")
        try Data(
            """
            {"kafka": {"bootstrap": "\(cluster.bootstrapServers)", "session_timeout": "4s"},
             "database": {"url": "postgresql://\(role)@127.0.0.1:\(port)/\(database)"},
             "http": {"port": 0}, "settings": {"watch_interval": "100ms"}}
            """.utf8
        ).write(to: settings)
        let source = SettingsSource(
            schema: WorkerProgram.dedupe.schema, environment: ["DATABASE_PASSWORD_FILE": password.path],
            filePath: settings.path, problems: { WorkerProcess.problems(.dedupe, $0) })
        let log = RecordingLogHandler(level: .info)
        let service = try WorkerService(.dedupe, source.read(), from: source, log: log)
        let running = Task { try await service.run() }
        await eventually { service.health.isReady }

        try write("second")
        await eventually { log.count(Self.refused) == 1 }
        #expect(log.count(Self.taken) == 0)
        #expect(log.metadata(of: Self.refused).allSatisfy { $0.contains("database.password") })
        #expect(log.metadata(of: Self.refused).allSatisfy { !$0.contains("second") })
        let exposition = String(decoding: service.metrics.exposition(), as: UTF8.self)
        #expect(exposition.contains(#"settings_refused_state{stage="dedupe"} 1"#))
        #expect(service.health.isReady)

        try await client.withConnection { try await $0.execute(script: "ALTER ROLE \(role) PASSWORD 'second'") }
        await eventually { log.count(Self.taken) == 1 }
        #expect(log.metadata(of: Self.taken).allSatisfy { $0.contains("database.password") })
        #expect(log.count(Self.refused) == 1)
        service.stop()
        try await running.value
        cluster.mock?.stop()
        await client.close()
    }
}
