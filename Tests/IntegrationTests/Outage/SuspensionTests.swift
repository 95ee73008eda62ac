import Foundation
import Postgres
import Records
import Simulation
import TestSupport
import Testing
import Topology

extension PipelineTests {
    /// A worker that stands still in the middle of its work, as in a suspended virtual machine: it
    /// holds locks, and still acknowledges on the network.
    @Suite(.timeLimit(.minutes(10))) struct SuspensionTests {
        @Test(.needsBuiltWorkers, arguments: [StageDescription.link, .entitle])
        func `a copy that stands still inside a transaction holds nobody up`(stage: StageDescription) async throws {
            let traffic = try DemoTraffic(seed: 17, bodyCount: 900)
            var setup = PipelineSetup(.mock)
            setup.sessionTimeout = .seconds(6)
            setup.environment["BATCH_RECORDS_MAX"] = "20"
            try await RunningPipeline.run(setup, traffic) { pipeline in
                try pipeline.startAll()
                try pipeline.startAll()
                try await pipeline.waitUntilReady()
                let isOver = Flag()
                let publishing = Task { try await pipeline.publishSteadily(until: { isOver.isRaised }) }
                let copy = try #require(pipeline.copies.first { $0.stage == stage })
                try await Self.suspendInTransaction(copy, pipeline)
                isOver.raise()
                try await publishing.value
                _ = try await pipeline.withDatabase { try await $0.query("SELECT reapply_ownership_rules()") }
                // While the copy still stands still.
                try await pipeline.settle(within: .seconds(90))
                try await Self.waitUntilLinksApplied(pipeline)
                copy.process.signal(SIGCONT)
                try await pipeline.expectNothingLost(try await pipeline.settle())
                #expect(try await pipeline.endsOfAll().isEmpty)
            }
        }

        /// Stops the copy inside a transaction, and tries again if it was outside of one.
        ///
        /// Between attempts the copy continues until a transaction is seen: a process that was
        /// stopped for too long has lost its partitions and needs others first.
        private static func suspendInTransaction(_ copy: WorkerCopy, _ pipeline: RunningPipeline) async throws {
            try await pipeline.withDatabase { connection in
                for _ in 0..<200 {
                    _ = try await becomesTrue(within: .seconds(20), every: .milliseconds(1)) {
                        try await isTransactionOpen(of: copy.stage, for: "0", connection)
                    }
                    copy.process.signal(SIGSTOP)
                    let isInside = try await becomesTrue(within: .milliseconds(700)) {
                        try await isTransactionOpen(of: copy.stage, for: "400 ms", connection)
                    }
                    if isInside { return }
                    copy.process.signal(SIGCONT)
                }
                throw PipelineFailure("\(copy.name) was never inside of a transaction")
            }
        }

        /// Whether a copy has left a transaction open for so long; a working one continues within a
        /// few milliseconds.
        private static func isTransactionOpen(
            of stage: StageDescription, for interval: String, _ connection: PostgresConnection
        ) async throws -> Bool {
            try await connection.query(
                """
                SELECT EXISTS (
                    SELECT FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name = $1
                      AND state = 'idle in transaction'
                      AND clock_timestamp() - state_change >= $2::text::interval
                )
                """, [.text(stage.program), .text(interval)])[0].bool(0)
        }

        private static func waitUntilLinksApplied(_ pipeline: RunningPipeline) async throws {
            try await eventually("the links are applied") {
                try await pipeline.withDatabase { connection in
                    try await connection.query("SELECT count(*) FROM account_link_changes")[0].int8(0)
                } == 0
            }
        }
    }
}
