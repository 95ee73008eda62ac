import Demonstration
import Foundation
import Kafka
import Operations
import Postgres
import Records
import Simulation
import Store
import TestSupport
import Testing
import Topology
import Worker

extension PipelineTests {
    /// Every program with exactly the rights that `pipeline grants` gives it.
    @Suite(.serialized, .needsKafkaLauncher, .timeLimit(.minutes(15))) struct LeastPrivilegeTests {
        @Test func `each program runs with its own rights, and fails beyond them`() async throws {
            try await SecureKafka.lend { kafka in try await PrivatePostgres.lend { try await Self.run(kafka, $0) } }
        }

        private static func run(_ kafka: SecureKafka, _ server: PrivatePostgres) async throws {
            var setup = PipelineSetup(.real)
            setup.ownCluster = KafkaCluster(startedAt: kafka.bootstrapServers)
            setup.ownServer = server
            let holders = try await Holders(kafka, server)
            setup.environmentOf = holders.environments
            setup.environment = ["BREAKER_ARMED_MAX": "1s", "SETTINGS_WATCH_INTERVAL": "200ms"]
            let traffic = try DemoTraffic(seed: 29, bodyCount: DemoTraffic.bodyCountMin)
            try await RunningPipeline.run(setup, traffic) { pipeline in
                let prefix = pipeline.layout.prefix
                let granted = await pipeline.operate("grants", "--apply")
                #expect(granted.code == 0, "\(granted.notes)")
                try kafka.execute(await pipeline.operate("grants").output)
                try await holders.setPasswords(pipeline)
                try pipeline.startAll()
                try await pipeline.publish(pipeline.traffic.items)
                try await pipeline.expectNothingLost(try await pipeline.settle())
                try await pipeline.waitUntilPublished()
                for copy in pipeline.copies {
                    let refused = copy.log.lines.filter { $0.contains("42501") || $0.contains("AUTHORIZATION") }
                    #expect(refused.isEmpty, "\(copy.name): \(refused.prefix(2))")
                }
                let errands = Errands(holders: holders, pipeline: pipeline)
                try await expectTools(errands)
                try await expectRefusals(holders, prefix)
                try await expectAuditors(errands)
                try await expectOperators(errands)
            }
        }

        /// The tools of auditors and operators, each with the rights of its holder.
        private static func expectTools(_ errands: Errands) async throws {
            try await errands.expect(
                [
                    .init("dead-letter-index", "index --until-end"), .init("auditor", "list --limit=3"),
                    .init("auditor", "count"),
                ], of: "dead-letter")
            try await errands.expect(
                [
                    .init("pipeline-operator", "status"), .init("pipeline-operator", "reconcile"),
                    .init("pipeline-operator", "plan --facts"),
                ], of: "pipeline")
        }

        /// Expects refusals of writes that are close to allowed ones.
        private static func expectRefusals(_ holders: Holders, _ prefix: String) async throws {
            for (holder, allowed, forbidden) in [
                ("verify-worker", [Topic.verified], [Topic.raw, Topic.linked, Topic.changed]),
                ("dedupe-worker", [Topic.unique], [Topic.verified, Topic.linked]),
                ("link-worker", [Topic.linked], [Topic.verified, Topic.current]),
                ("entitle-worker", [Topic.changed], [Topic.verified, Topic.linked]),
                ("recovery-worker", [Topic.raw], [Topic.verified, Topic.outcomes]),
                ("ingestion", [Topic.raw], [Topic.verified, Topic.deadLetter]),
                ("auditor", [], [Topic.raw, Topic.verified, Topic.deadLetter]),
                ("investigator", [], [Topic.raw, Topic.verified, Topic.deadLetter]),
                ("dead-letter-index", [], [Topic.raw, Topic.deadLetter]),
                // The console's identity: what it writes is verified, or not believed.
                (
                    "dead-letter-replay", [Topic.raw],
                    [Topic.verified, Topic.unique, Topic.linked, Topic.outcomes, Topic.changed]
                ),
            ] {
                let properties = try holders.properties(holder).merging(["message.timeout.ms": "20000"]) { $1 }
                for topic in allowed + forbidden {
                    // A producer of its own: an idempotent one is unusable after the first refusal,
                    // and one without any right to write gets no producer ID.
                    let producer = try KafkaProducer(configuration: properties)
                    let record = ProducerRecord(topic: prefix + topic, value: [0])
                    let failure = await producer.send([record]).failures[0]
                    let code = failure.map { (producer.fatalError ?? $0).code }
                    let expected = allowed.contains(topic) ? nil : KafkaError.Code.unauthorized
                    #expect(code == expected, "\(holder) writes \(topic)")
                    await producer.close(deadline: .seconds(5))
                }
            }
        }
    }
}
