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
    @Suite(.serialized, .needsKafkaLauncher, .timeLimit(.minutes(15))) struct RotationTests {
        static func traffic(_ seed: UInt64) throws -> DemoTraffic {
            try DemoTraffic(seed: seed, bodyCount: DemoTraffic.bodyCountMin)
        }

        @Test func `replaced passwords and certificates are used without a restart`() async throws {
            try await SecureKafka.lend { kafka in
                try await PrivatePostgres.lend { try await Self.rotatePasswords(kafka, $0) }
                try await Self.rotateCertificate(kafka)
            }
        }

        /// A certificate without rights shows which one is used.
        private static func rotateCertificate(_ kafka: SecureKafka) async throws {
            let secrets = try SecretFiles()
            var setup = PipelineSetup(.real)
            setup.ownCluster = KafkaCluster(startedAt: kafka.bootstrapServers)
            setup.hasStaticMembers = true
            setup.environment = try await kafka.environment(ofUser: "admin")
            let (certificate, key) = ("RDKAFKA_SSL_CERTIFICATE_LOCATION", "RDKAFKA_SSL_KEY_LOCATION")
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
                await eventually { worker.log.events(Self.refused).count == 1 }
                #expect(worker.isReady)
                // Between the two files of a pair no client can be made: the worker waits.
                try await takePlace(ofVerifyIn: pipeline) {
                    !worker.process.isRunning || worker.get("/readyz")?.text.contains("key values mismatch") ?? false
                }
                try pipeline.requireRunning()
                try install(good)
                await eventually("it goes on with a pair") {
                    worker.log.events(Self.renewed).count == 1 && worker.isReady
                }
                try install((stranger[certificate], stranger[key]))
                await eventually("the new certificate is used") {
                    worker.log.events(Self.renewed).count >= 2 && worker.isUnready
                }
                try install(good)
                await eventually("the good one is used again") {
                    worker.log.events(Self.renewed).count >= 3 && worker.isReady
                }
                for stage in [StageDescription.dedupe, .link, .entitle] { try pipeline.start(stage) }
                try await pipeline.publish(pipeline.traffic.items)
                try await pipeline.expectNothingLost(try await pipeline.settle())
            }
        }

        /// Joins the group as the static member that a worker is, until the condition holds: the
        /// worker's consumer is fenced, and it has to make another one.
        private static func takePlace(ofVerifyIn pipeline: RunningPipeline, until condition: () -> Bool) async throws {
            let consumer = try KafkaConsumer(
                configuration: pipeline.cluster.client.merging([
                    "group.id": "\(pipeline.layout.prefix)verify", "group.instance.id": "verify-place-1",
                ]) { $1 })
            try await consumer.subscribe([pipeline.layout.prefix + Topic.raw])
            let end = ContinuousClock.now + .seconds(60)
            while !condition(), ContinuousClock.now < end {
                let wait = Duration.milliseconds(100)
                _ = try await consumer.poll(recordsMax: 1, bytesMax: 1, wait: wait)
            }
            #expect(condition(), "the worker has not recreated its consumer")
            await consumer.close(deadline: .seconds(5))
        }

        private static let refused = "reloaded settings invalid, previous settings stay in force"
        private static let renewed = "certificates replaced, reconnecting to Kafka"
    }
}
