import Foundation
import Operations
import Postgres
import Records
import Simulation
import Store
import TestSupport
import Testing
import Topology

extension PipelineTests {
    /// The same traffic on whole tables and on `deploy/postgres/partitions.sql`.
    @Suite(.timeLimit(.minutes(10))) struct PartitionedTests {
        private static let bodyCount = 300
        private static let whole = "whole"
        private static let partitioned = "partitioned"

        private static func traffic(_ now: Date) throws -> DemoTraffic {
            try DemoTraffic(seed: 41, bodyCount: bodyCount, now: Int64(now.timeIntervalSince1970 * 1_000))
        }

        @Test(arguments: KafkaCluster.Kind.preferred)
        func `workers with their own rights alone run through partitions as through whole tables`(
            kind: KafkaCluster.Kind
        ) async throws {
            let now = Date()
            try await PrivatePostgres.lend { server in
                try await run(kind, server, now, isPartitioned: false)
                try await run(kind, server, now, isPartitioned: true)
                // Both now: the views show the present moment.
                let whole = try await shown(Self.whole, server)
                let partitioned = try await shown(Self.partitioned, server)
                #expect(!whole.isEmpty)
                #expect(partitioned == whole)
            }
        }

        /// Publishes half of the traffic, makes partitions if requested, and publishes the other
        /// half.
        private func run(_ kind: KafkaCluster.Kind, _ server: PrivatePostgres, _ now: Date, isPartitioned: Bool)
            async throws
        {
            var setup = PipelineSetup(kind)
            setup.ownServer = server
            setup.database = isPartitioned ? Self.partitioned : Self.whole
            for stage in Topology.stages {
                setup.environmentOf[stage] = [
                    "DATABASE_URL": "postgresql://\(stage.program)@127.0.0.1:\(server.port)/\(setup.database)",
                    "DATABASE_PASSWORD": stage.program,
                ]
            }
            try await RunningPipeline.run(setup, Self.traffic(now)) { pipeline in
                try await grant(pipeline)
                try pipeline.startAll()
                try await pipeline.publish(upTo: 0.5)
                try await pipeline.settle()
                if isPartitioned {
                    try await stop(["link", "entitle"], pipeline)
                    try await partition(pipeline)
                    try await grant(pipeline)
                    try pipeline.start(.link)
                    try pipeline.start(.entitle)
                    try await pipeline.waitUntilReady()
                }
                try await pipeline.publish(upTo: 1)
                try await pipeline.expectNothingLost(try await pipeline.settle())
                for command in [["migrate"], ["plan", "--facts"], ["reconcile"]] {
                    let outcome = await pipeline.operate(command)
                    #expect(outcome.code == 0, "\(command): \(outcome.output)\(outcome.notes)")
                }
                let refused = pipeline.copies.flatMap(\.log.lines).filter { $0.contains("42501") }
                #expect(refused.isEmpty, "\(refused.prefix(2))")
                #expect(try await pipeline.endsOfAll().isEmpty)
            }
        }

        private func stop(_ stages: [String], _ pipeline: RunningPipeline) async throws {
            for copy in pipeline.copies where stages.contains(copy.stage.name) { try await pipeline.stop(copy) }
        }

        private func grant(_ pipeline: RunningPipeline) async throws {
            try await pipeline.withDatabase { connection in
                try await DatabaseRole.grant(DatabaseRole.all, schema: "public", prefix: "", on: connection)
                for role in DatabaseRole.all {
                    try await connection.execute(script: "ALTER ROLE \"\(role.name)\" PASSWORD '\(role.name)'")
                }
            }
        }

        private func partition(_ pipeline: RunningPipeline) async throws {
            let script = try String(
                contentsOfFile: PostgresServer.migrations.path + "/../../deploy/postgres/partitions.sql",
                encoding: .utf8)
            try await pipeline.withDatabase { connection in
                try await connection.execute(script: script)
                let partitions = try await connection.query("SELECT count(DISTINCT tableoid) FROM entitlements")
                #expect(partitions[0].int8(0) == 8)
            }
        }

        /// The contents of the views, and what was known of each user last, a line for each row.
        private func shown(_ database: String, _ server: PrivatePostgres) async throws -> [String] {
            let options = server.options("tests", database: database)
            return try await PostgresConnection.lend(options) { connection in
                var lines: [String] = []
                for rows in Self.rows {
                    lines += try await connection.query("SELECT shown::text FROM (\(rows)) AS shown ORDER BY 1").map {
                        $0.text(0)
                    }
                }
                return lines
            }
        }

        private static let rows = [
            "SELECT * FROM active_entitlements", "SELECT * FROM entitlement_details", "SELECT * FROM ledger_balances",
            "SELECT * FROM ledger_history",
            """
            SELECT user_id, known.entitlement_key, known.original_transaction_id, known.periods
            FROM user_versions, entitlements_as_known(user_id, now()) AS known
            """,
        ]
    }
}
