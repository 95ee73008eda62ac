import Commands
import Demonstration
import Foundation
import JSON
import Operations
import Postgres
import Settings
import Simulation
import TestSupport
import Testing
import Topology
import Worker

extension PipelineTests {
    /// The four workers with Kafka and PostgreSQL that require TLS and identities.
    @Suite(.serialized, .needsKafkaLauncher, .timeLimit(.minutes(15))) struct SecurePipelineTests {
        private static func traffic() throws -> DemoTraffic {
            try DemoTraffic(seed: 23, bodyCount: DemoTraffic.bodyCountMin)
        }

        @Test func `the workers run over TLS with a password, and with a certificate`() async throws {
            try await SecureKafka.lend { kafka in
                try await SecurePostgres.lend { postgres in
                    for mechanism in [SecureKafka.Mechanism.plain, .mtls] {
                        try await Self.run(kafka, postgres, mechanism)
                    }
                    try await Self.askWithTools(kafka, postgres)
                }
                try await Self.startWithScram(kafka)
                try await Self.startWorkerWithScram(kafka)
            }
        }

        private static func run(_ kafka: SecureKafka, _ postgres: SecurePostgres, _ mechanism: SecureKafka.Mechanism)
            async throws
        {
            var setup = PipelineSetup(.real)
            setup.ownCluster = KafkaCluster(startedAt: kafka.bootstrapServers)
            setup.ownServer = postgres.server
            setup.database = "with_\(mechanism.rawValue)"
            setup.environment = try kafka.environment("admin", mechanism)
            setup.environment["DATABASE_URL"] = postgres.connectionString(database: "with_\(mechanism.rawValue)")
            let traffic = try traffic()
            try await RunningPipeline.run(setup, traffic) { pipeline in
                try pipeline.startAll()
                try await pipeline.publish(pipeline.traffic.items)
                try await pipeline.expectNothingLost(try await pipeline.settle())
                let plain = try await pipeline.withDatabase { connection in
                    try await connection.query(
                        """
                        SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                        WHERE application_name LIKE '%-worker' AND NOT ssl
                        """)[0].int8(0)
                }
                #expect(plain == 0)
            }
        }

        /// The operators' and auditors' tools read the same settings.
        private static func askWithTools(_ kafka: SecureKafka, _ postgres: SecurePostgres) async throws {
            var environment = try kafka.environment("admin", .plain)
            environment["DATABASE_URL"] = postgres.connectionString(database: "with_plain")
            let topics = try await BuiltTool.run(
                "pipeline", ["topics", "--replication=1", "--partitions=1", "--prefix=tools."], environment)
            #expect(topics.exitCode == 0, "\(topics.output)")
            let count = try await BuiltTool.run("dead-letter", ["count", "--prefix=tools."], environment)
            #expect(count.exitCode == ExitCode.found(0), "\(count.output)")
            environment["RDKAFKA_SASL_PASSWORD"] = "hunter2"
            let refused = try await BuiltTool.run("pipeline", ["topics", "--prefix=tools."], environment)
            #expect(refused.exitCode == ExitCode.unavailable)
            #expect(refused.output.contains("Invalid username or password"), "\(refused.output)")
            #expect(!refused.output.contains("hunter2"))
        }

        /// Starts the tool with SCRAM.
        ///
        /// librdkafka before 2.6.1 does not support it, which is reported at the start or when the
        /// brokers refuse it.
        private static func startWithScram(_ kafka: SecureKafka) async throws {
            var environment = try kafka.environment("admin", .scram)
            let old = try await BuiltTool.run("pipeline", ["topics", "--prefix=tools."], environment)
            let says = old.output.contains("install librdkafka 2.6.1 or later")
            #expect(says == (old.exitCode != 0), "\(old.output)")
            guard let folder = ProcessInfo.processInfo.environment["LIBRDKAFKA_FOLDER"] else { return }
            environment["LD_LIBRARY_PATH"] = folder
            let new = try await BuiltTool.run("pipeline", ["topics", "--prefix=tools."], environment)
            #expect(new.exitCode == 0, "\(new.output)")
        }

        /// A worker reports it at its start, with the remedies, waits and is not ready; with a
        /// newer librdkafka it works, and reports nothing.
        private static func startWorkerWithScram(_ kafka: SecureKafka) async throws {
            var setup = PipelineSetup(.real)
            setup.ownCluster = KafkaCluster(startedAt: kafka.bootstrapServers)
            setup.environment = try kafka.environment("admin", .scram)
            let password = try #require(setup.environment["RDKAFKA_SASL_PASSWORD"])
            try await RunningPipeline.run(setup, traffic()) { pipeline in
                let worker = try pipeline.start(.verify)
                func warnings() -> [String] {
                    worker.log.events("Kafka may refuse these settings").map { event in
                        event["kafka.reason"]?.string ?? ""
                    }
                }
                await eventually("it starts, and says what stands in the way") { worker.isReady || !warnings().isEmpty }
                guard let warning = warnings().first else { return }
                for text in [
                    "cannot sign in by SCRAM to Kafka 4", "invalid credentials", "install librdkafka 2.6.1 or later",
                    "a client certificate", "sasl.mechanism=PLAIN over TLS",
                ] { #expect(warning.contains(text), "\(text) is not said: \(warning)") }
                await eventually("the brokers' refusal is said, and the worker waits") {
                    worker.isUnready && worker.log.lines.contains { $0.contains("SASL authentication error") }
                }
                #expect(warnings().count == 1 && worker.process.isRunning)
                #expect(!worker.log.lines.joined().contains(password))
            }
        }
    }
}
