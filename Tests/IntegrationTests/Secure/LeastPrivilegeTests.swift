import Demonstration
import Foundation
import Kafka
import Operations
import Postgres
import Records
import Settings
import Simulation
import Store
import TestSupport
import Testing
import Topology
import Worker

extension PipelineTests {
    /// Every program with exactly the rights that `pipeline grants` gives it.
    @Suite(.serialized, .needsRealKafka, .timeLimit(.minutes(15)))
    struct LeastPrivilegeTests {
        @Test func `each program runs with its own rights, and fails at what is not its own`()
            async throws
        {
            let kafka = try await SecureKafka.start()
            let server = try await PrivatePostgres.start()
            do {
                try await Self.run(kafka, server)
            } catch {
                await kafka.remove()
                try await server.remove()
                throw error
            }
            await kafka.remove()
            try await server.remove()
        }

        private static func run(_ kafka: SecureKafka, _ server: PrivatePostgres) async throws {
            var setup = PipelineSetup(.real)
            setup.ownCluster = KafkaCluster(startedAt: kafka.bootstrapServers)
            setup.ownServer = server
            let holders = try await Holders(kafka, server)
            setup.environmentOf = holders.environments
            let traffic = try DemoTraffic(
                seed: 29,
                bodyCount: DemoTraffic.bodyCountMin,
                now: Int64(Date().timeIntervalSince1970 * 1_000)
            )
            try await RunningPipeline.run(setup, traffic) { pipeline in
                let prefix = pipeline.layout.prefix
                let granted = try await BuiltTool.run(
                    "pipeline",
                    ["grants", "--apply", "--prefix=\(prefix)", "--group-prefix=\(prefix)"],
                    ["KAFKA_BOOTSTRAP": kafka.bootstrapServers]
                        .merging(["DATABASE_URL": pipeline.database.connectionString]) { $1 }
                )
                #expect(granted.exitCode == 0, "\(granted.output)")
                try await holders.setPasswords(pipeline)
                try pipeline.startAll()
                try await pipeline.publish(pipeline.traffic.items)
                try await pipeline.expectNothingLost(try await pipeline.settle())
                try await pipeline.waitUntilPublished()
                for copy in pipeline.copies {
                    let refused = copy.log.lines.filter {
                        $0.contains("42501") || $0.contains("AUTHORIZATION")
                    }
                    #expect(refused.isEmpty, "\(copy.name): \(refused.prefix(2))")
                }
                try await expectTools(holders, prefix)
                try await expectRefusals(holders, prefix)
            }
        }

        /// The tools of auditors and operators, each with the rights of its holder.
        private static func expectTools(_ holders: Holders, _ prefix: String) async throws {
            let topic = "--prefix=\(prefix)"
            let commands: [(holder: String, program: String, arguments: [String])] = [
                ("dead-letter-index", "dead-letter", ["index", "--until-end", topic]),
                ("auditor", "dead-letter", ["list", "--limit=3", topic]),
                ("auditor", "dead-letter", ["count", topic]),
                ("pipeline-operator", "pipeline", ["status", topic, "--group-prefix=\(prefix)"]),
                (
                    "pipeline-operator", "pipeline",
                    ["reconcile", topic, "--group-prefix=\(prefix)"]
                ),
                ("pipeline-operator", "pipeline", ["rebuild"]),
            ]
            for (holder, program, arguments) in commands {
                let outcome = try await BuiltTool.run(
                    program,
                    arguments,
                    try await holders.environment(holder)
                )
                #expect(outcome.exitCode == 0, "\(holder): \(arguments): \(outcome.output)")
            }
        }

        /// What each may not write, next to what it may.
        private static func expectRefusals(_ holders: Holders, _ prefix: String) async throws {
            for (holder, allowed, forbidden) in [
                ("verify-worker", [Topic.verified], [Topic.raw, Topic.linked, Topic.changed]),
                ("dedupe-worker", [Topic.unique], [Topic.verified, Topic.linked]),
                ("link-worker", [Topic.linked], [Topic.verified, Topic.current]),
                ("entitle-worker", [Topic.changed], [Topic.verified, Topic.linked]),
                ("ingestion", [Topic.raw], [Topic.verified, Topic.deadLetter]),
                ("auditor", [], [Topic.raw, Topic.verified, Topic.deadLetter]),
                ("investigator", [], [Topic.raw, Topic.verified, Topic.deadLetter]),
                ("dead-letter-index", [], [Topic.raw, Topic.deadLetter]),
                ("dead-letter-replay", [Topic.raw, Topic.verified], [Topic.changed]),
            ] {
                let properties = try await holders.properties(holder).merging(
                    ["message.timeout.ms": "20000"]
                ) { $1 }
                for topic in allowed + forbidden {
                    // Of its own: an idempotent producer is done for by the first refusal, and
                    // one without any right to write gets no producer ID.
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

/// The certificates and passwords of all who have rights.
private final class Holders: Sendable {
    /// Of the workers.
    let environments: [StageDescription: [String: String]]
    private let kafka: SecureKafka
    private let server: PrivatePostgres

    init(_ kafka: SecureKafka, _ server: PrivatePostgres) async throws {
        self.kafka = kafka
        self.server = server
        var environments: [StageDescription: [String: String]] = [:]
        for stage in Topology.stages {
            environments[stage] = try await Self.environment(stage.program, kafka, server)
        }
        self.environments = environments
    }

    func environment(_ holder: String) async throws -> [String: String] {
        try await Self.environment(holder, kafka, server)
    }

    func properties(_ holder: String) async throws -> [String: String] {
        try await kafka.properties(ofUser: holder)
    }

    /// A password for each role, which is its name.
    func setPasswords(_ pipeline: RunningPipeline) async throws {
        try await pipeline.withDatabase { connection in
            for role in DatabaseRole.all {
                try await connection.execute(
                    script: "ALTER ROLE \"\(role.name)\" PASSWORD '\(role.name)'"
                )
            }
        }
    }

    private static func environment(
        _ holder: String,
        _ kafka: SecureKafka,
        _ server: PrivatePostgres
    ) async throws -> [String: String] {
        try await kafka.environment(ofUser: holder).merging([
            "DATABASE_URL": "postgresql://\(holder)@127.0.0.1:\(server.port)/postgres",
            "DATABASE_PASSWORD": holder,
        ]) { $1 }
    }
}
