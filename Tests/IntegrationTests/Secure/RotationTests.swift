import Demonstration
import Foundation
import Kafka
import Operations
import Postgres
import Records
import Simulation
import TestSupport
import Testing
import Topology
import Worker

extension PipelineTests {
    /// Secrets that are replaced while the workers run.
    @Suite(.serialized, .needsRealKafka, .timeLimit(.minutes(15)))
    struct RotationTests {
        private static func traffic(_ seed: UInt64) throws -> DemoTraffic {
            try DemoTraffic(
                seed: seed,
                bodyCount: DemoTraffic.bodyCountMin,
                now: Int64(Date().timeIntervalSince1970 * 1_000)
            )
        }

        @Test func `replaced passwords and certificates are used without a restart`()
            async throws
        {
            let kafka = try await SecureKafka.start()
            let server = try await PrivatePostgres.start()
            do {
                try await Self.rotatePasswords(kafka, server)
                try await Self.rotateCertificate(kafka)
            } catch {
                await kafka.remove()
                try await server.remove()
                throw error
            }
            await kafka.remove()
            try await server.remove()
        }

        /// The brokers' passwords change with them: the former one is worth nothing afterwards.
        private static func rotatePasswords(
            _ kafka: SecureKafka,
            _ server: PrivatePostgres
        ) async throws {
            let secrets = try SecretFiles()
            var setup = PipelineSetup(.real)
            setup.ownCluster = KafkaCluster(startedAt: kafka.bootstrapServers)
            setup.ownServer = server
            setup.hasStaticMembers = true
            setup.environment = try kafka.environment("admin", .plain)
            let former = try #require(setup.environment[Self.passwordName])
            setup.environment[Self.passwordName] = nil
            try secrets.write(former, to: "kafka")
            try secrets.write("robin-4710", to: "database")
            setup.environment[Self.passwordName + "_FILE"] = secrets.path("kafka")
            setup.environment["DATABASE_URL"] =
                "postgresql://postgres@127.0.0.1:\(server.port)/postgres"
            setup.environment["DATABASE_PASSWORD_FILE"] = secrets.path("database")
            setup.environment["SETTINGS_WATCH_INTERVAL"] = "200ms"
            try await RunningPipeline.run(setup, traffic(31)) { pipeline in
                // A role of the test's own keeps its way in.
                let open = try await PostgresConnection.connect(pipeline.database)
                try await open.execute(script: "ALTER ROLE postgres PASSWORD 'robin-4710'")
                try pipeline.startAll()
                try await pipeline.waitUntilReady()

                try secrets.write("wren-4711", to: "database")
                try secrets.write("lapwing-4712", to: "kafka")
                for copy in pipeline.copies {
                    await eventually(within: .seconds(30), "\(copy.name) reads its secrets") {
                        copy.log.events("settings reloaded").count >= 1
                    }
                }
                try await open.execute(
                    script: """
                        ALTER ROLE postgres PASSWORD 'wren-4711';
                        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                        WHERE application_name LIKE '%-worker';
                        """
                )
                try await kafka.changePassword(of: "admin", from: former, to: "lapwing-4712")
                await open.close()
                try await pipeline.publish(pipeline.traffic.items)
                try await expectSettled(pipeline, password: "wren-4711")
            }
        }

        private static let passwordName = "RDKAFKA_SASL_PASSWORD"

        private static func expectSettled(
            _ pipeline: RunningPipeline,
            password: String
        ) async throws {
            let reconciliation = try await pipeline.settle()
            #expect(reconciliation.isBalanced)
            try pipeline.requireRunning()
            for copy in pipeline.copies {
                #expect(copy.log.events("settings changed that need a restart").isEmpty)
                let text = copy.log.lines.joined()
                #expect(!text.contains("lapwing-4712") && !text.contains(password), "\(copy.name)")
            }
        }

        /// A certificate of somebody without rights shows which one is used.
        private static func rotateCertificate(_ kafka: SecureKafka) async throws {
            let secrets = try SecretFiles()
            var setup = PipelineSetup(.real)
            setup.ownCluster = KafkaCluster(startedAt: kafka.bootstrapServers)
            setup.hasStaticMembers = true
            setup.environment = try await kafka.environment(ofUser: "admin")
            let (certificate, key) = (
                "RDKAFKA_SSL_CERTIFICATE_LOCATION", "RDKAFKA_SSL_KEY_LOCATION"
            )
            let good = (setup.environment[certificate], setup.environment[key])
            let stranger = try await kafka.environment(ofUser: "stranger")
            func install(_ pair: (String?, String?)) throws {
                try secrets.copy(#require(pair.0), to: "certificate")
                try secrets.copy(#require(pair.1), to: "key")
            }
            try install(good)
            setup.environment[certificate] = secrets.path("certificate")
            setup.environment[key] = secrets.path("key")
            setup.environment["SETTINGS_WATCH_INTERVAL"] = "200ms"
            try await RunningPipeline.run(setup, traffic(37)) { pipeline in
                let worker = try pipeline.start(.verify)
                try await pipeline.waitUntilReady()
                // A key of another certificate is refused, and nothing happens.
                try secrets.copy(#require(stranger[key]), to: "key")
                await eventually(within: .seconds(30)) {
                    worker.log.events(Self.refused).count == 1
                }
                #expect(worker.isReady)
                // Between the two files of a pair no client can be made: the worker waits.
                try await takePlace(ofVerifyIn: pipeline) {
                    !worker.process.isRunning
                        || worker.get("/readyz")?.text.contains("key values mismatch") ?? false
                }
                try pipeline.requireRunning()
                try install(good)
                await eventually(within: .seconds(60), "it goes on with a pair") {
                    worker.log.events(Self.renewed).count == 1 && worker.isReady
                }
                try install((stranger[certificate], stranger[key]))
                await eventually(within: .seconds(60), "the new certificate is used") {
                    worker.log.events(Self.renewed).count >= 2 && worker.isUnready
                }
                try install(good)
                await eventually(within: .seconds(60), "the good one is used again") {
                    worker.log.events(Self.renewed).count >= 3 && worker.isReady
                }
                for stage in [StageDescription.dedupe, .link, .entitle] {
                    try pipeline.start(stage)
                }
                try await pipeline.publish(pipeline.traffic.items)
                try await pipeline.expectNothingLost(try await pipeline.settle())
            }
        }

        /// Joins the group as the static member that a worker is, until the condition holds: the
        /// worker's consumer is fenced, and it has to make another one.
        private static func takePlace(
            ofVerifyIn pipeline: RunningPipeline,
            until condition: () -> Bool
        ) async throws {
            let consumer = try KafkaConsumer(
                configuration: pipeline.cluster.client.merging([
                    "group.id": "\(pipeline.layout.prefix)verify",
                    "group.instance.id": "verify-place-1",
                ]) { $1 }
            )
            try await consumer.subscribe([pipeline.layout.prefix + Topic.raw])
            let end = ContinuousClock.now + .seconds(60)
            while !condition(), ContinuousClock.now < end {
                let wait = Duration.milliseconds(100)
                _ = try await consumer.poll(recordsMax: 1, bytesMax: 1, wait: wait)
            }
            #expect(condition(), "the worker has made no consumer anew")
            await consumer.close(deadline: .seconds(5))
        }

        private static let refused =
            "reloaded settings invalid, previous settings stay in force"
        private static let renewed = "certificates replaced, connecting to Kafka anew"
    }
}

/// Files that hold secrets, each replaced at once.
private final class SecretFiles: Sendable {
    private let folder = FileManager.default.temporaryDirectory
        .appending(path: "secrets-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    func path(_ name: String) -> String { folder.appending(path: name).path }

    func write(_ secret: String, to name: String) throws {
        try Data("\(secret)\n".utf8).write(to: folder.appending(path: name), options: .atomic)
    }

    func copy(_ path: String, to name: String) throws {
        try Data(contentsOf: URL(filePath: path))
            .write(to: folder.appending(path: name), options: .atomic)
    }
}
