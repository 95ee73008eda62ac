import Foundation
import Operations
import Postgres
import Testing
import TestSupport
import Traffic
import Worker

extension PipelineTests {
    /// Links that change while all four workers run and no record comes.
    @Suite(.timeLimit(.minutes(10)))
    struct LateLinkTests {
        @Test(.needsBuiltWorkers)
        func `access ends with its link and is back with it, and rebuilding finds the same rows`()
            async throws
        {
            let now = Int64(Date().timeIntervalSince1970 * 1_000)
            let traffic = try DemoTraffic(seed: 7, bodyCount: 200, now: now)
            try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
                try pipeline.startAll()
                try await pipeline.publish(traffic.items)
                try await pipeline.settle()
                let before = try await Self.held(pipeline)
                try await pipeline.withDatabase { connection in
                    try await connection.execute(
                        script: """
                            CREATE TABLE links_kept AS SELECT * FROM account_links;
                            DELETE FROM account_links;
                            """
                    )
                }
                try await eventually { try await Self.held(pipeline).isEmpty }
                try await pipeline.withDatabase { connection in
                    try await connection.execute(
                        script: "INSERT INTO account_links SELECT * FROM links_kept"
                    )
                }
                try await eventually { try await Self.held(pipeline) == before }
                #expect(before.count > 10)
                let causes = try await pipeline.withDatabase { connection in
                    try await connection.query(
                        "SELECT DISTINCT cause_id FROM changes WHERE cause = 'link' ORDER BY 1"
                    )
                }
                #expect(causes.map { $0.text(0) }.contains("account_token"))
                let code = await PipelineTool.run(
                    ["rebuild"],
                    in: CommandContext(
                        console: Console(isInteractive: false, output: { _ in }, notes: { _ in }),
                        environment: ["DATABASE_URL": pipeline.database.connectionString],
                        executables: "/nowhere"
                    )
                )
                #expect(code == 0, "a row is not what the facts say")
            }
        }

        /// A line for each entitlement.
        private static func held(_ pipeline: RunningPipeline) async throws -> [String] {
            try await pipeline.withDatabase { connection in
                try await connection.query(
                    """
                    SELECT concat_ws(' ', user_id, environment, bundle_id,
                        original_transaction_id, entitlement_key, periods)
                    FROM entitlements ORDER BY 1
                    """
                ).map { $0.text(0) }
            }
        }
    }
}
