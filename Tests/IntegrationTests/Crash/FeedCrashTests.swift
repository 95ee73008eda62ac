import Foundation
import Glibc
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
                try await pipeline.waitUntilPublished()
                try await Self.expectRepetition(pipeline)
                try await pipeline.expectFeedComplete()
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
                            'user-' || ($1::int8 + number) % 1000, 'extra', NULL, 'sorry', 'test')
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
