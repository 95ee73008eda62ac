import Foundation
import Glibc
import JSON
import Kafka
import Simulation
import Postgres
import TestSupport
import Testing
import Topology
import Worker

extension PipelineTests {
    @Suite(.timeLimit(.minutes(10))) struct FeedCrashTests {
        private static let kills = 2

        @Test(arguments: KafkaCluster.Kind.preferred)
        func `killed in the middle of a batch, a publishing copy leaves a feed without a gap`(kind: KafkaCluster.Kind)
            async throws
        {
            let traffic = try DemoTraffic(seed: 17, bodyCount: DemoTraffic.bodyCountMin)
            try await RunningPipeline.run(PipelineSetup(kind), traffic) { pipeline in
                try pipeline.start(.entitle)
                try pipeline.start(.entitle)
                let isOver = Flag()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await Self.grant(pipeline, until: { isOver.isRaised }) }
                    for _ in 0..<Self.kills {
                        try await Self.killPublisher(pipeline)
                        try pipeline.start(.entitle)
                    }
                    isOver.raise()
                    try await group.waitForAll()
                }
                try await Self.expectEnds(pipeline)
                try await pipeline.waitUntilPublished()
                try await Self.expectRepetition(pipeline)
                try await pipeline.expectFeedComplete()
            }
        }

        /// Expects one event of each grant that has ended.
        private static func expectEnds(_ pipeline: RunningPipeline) async throws {
            try await pipeline.withDatabase { connection in
                try await eventually {
                    try await connection.query("SELECT FROM grants WHERE next_boundary IS NOT NULL LIMIT 1").isEmpty
                }
                let events = try await connection.query(
                    """
                    SELECT count(event) FROM grants LEFT JOIN changes USING (grant_id)
                    WHERE NOT upper_inf(grants.periods) GROUP BY grant_id
                    """
                ).map { $0.int8(0) }
                #expect(events.count > 50)
                #expect(events.allSatisfy { $0 == 1 })
            }
        }

        @Test func `a period that ends reaches the feed within a second, by the server's own clock`() async throws {
            let traffic = try DemoTraffic(seed: 18, bodyCount: DemoTraffic.bodyCountMin)
            try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
                for _ in 0..<2 { try pipeline.start(.entitle) }
                try await pipeline.waitUntilReady()
                try await pipeline.execute(
                    """
                    SELECT grant_entitlement('user-' || n, 'pro', clock_timestamp() + n * interval '97 ms', 'why', 'test')
                    FROM generate_series(10, 60) AS n
                    """)
                try await Self.expectEnds(pipeline)
                try await pipeline.waitUntilPublished()
                // The broker's time of a record that the workers have sent is the machine's, as PostgreSQL's.
                let delays = try await pipeline.records(of: "entitlements.changed").compactMap { record -> Int64? in
                    let change = try JSONDocument(parsing: record.value ?? []).root
                    guard change["cause"]?["event"]?.string == "period_ended" else { return nil }
                    let end = try #require(change["new"]?.elements.compactMap { $0["end"]?.int64 }.last)
                    return try #require(record.timestampMilliseconds) - end
                }.sorted()
                #expect(delays.count == 51 && delays[0] >= 0)
                #expect(delays[delays.count / 2] <= 1_000, "milliseconds: \(delays)")
            }
        }

        /// Changes of many users, more whenever the last ones are published.
        private static func grant(_ pipeline: RunningPipeline, until isOver: () -> Bool) async throws {
            try await pipeline.withDatabase { connection in
                var round: Int64 = 0
                while !isOver() {
                    try Task.checkCancellation()
                    _ = try await connection.query(
                        """
                        SELECT grant_entitlement(
                            'user-' || ($1::int8 + number) % 1000, 'extra',
                            CASE number % 2 WHEN 0 THEN clock_timestamp() + interval '300 ms' END, 'sorry', 'test')
                        FROM generate_series(1, 40) AS number
                        """, [.int8(round * 40)])
                    round += 1
                    try await eventually {
                        if isOver() { return true }
                        return try await connection.query("SELECT FROM unpublished_changes LIMIT 1").isEmpty
                    }
                }
            }
        }

        /// Kills the publishing copy while a batch is in flight.
        private static func killPublisher(_ pipeline: RunningPipeline) async throws {
            let copy = try await publisher(pipeline)
            try await pipeline.withDatabase { connection in
                // Not an acknowledged one: the next.
                try await eventually { try await !Self.isAtWork(connection) }
                try await eventually(every: .milliseconds(1), "\(copy.name) is met at work") {
                    guard try await Self.isAtWork(connection) else { return false }
                    copy.process.signal(SIGSTOP)
                    // A statement sent before may still run.
                    let isOver = try await becomesTrue(within: .milliseconds(200)) {
                        try await !Self.isAtWork(connection)
                    }
                    if isOver { copy.process.signal(SIGCONT) }
                    return !isOver
                }
            }
            try await pipeline.kill(copy)
        }

        private static func isAtWork(_ connection: PostgresConnection) async throws -> Bool {
            try await connection.query("SELECT handed_over_through <> 0 FROM feed_lease")[0].bool(0)
        }

        /// The copy that continues to write.
        private static func publisher(_ pipeline: RunningPipeline) async throws -> WorkerCopy {
            var written: [String: Double] = [:]
            var found: WorkerCopy?
            await eventually("somebody publishes") {
                for copy in pipeline.copies {
                    guard let count = copy.metric("outbox_records_total") else { continue }
                    if let former = written.updateValue(count, forKey: copy.name), former < count { found = copy }
                }
                return found != nil
            }
            return try #require(found)
        }

        /// Expects the newest states again of the users that the killed copies had published.
        private static func expectRepetition(_ pipeline: RunningPipeline) async throws {
            try await pipeline.withDatabase { connection in
                let noted = try await connection.query("UPDATE feed_repetitions SET due = now()")
                #expect(noted.affectedCount > 0)
                try await eventually("they are published") {
                    try await connection.query("SELECT FROM feed_repetitions LIMIT 1").isEmpty
                }
            }
        }
    }
}
