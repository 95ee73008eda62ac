import Foundation
import Operations
import Postgres
import Simulation
import TestSupport
import Testing

extension PipelineTests {
    /// The consumer of the feed in `deploy/examples`.
    @Suite(.timeLimit(.minutes(10))) struct FeedConsumerTests {
        private static let hasClient = FileManager.default.fileExists(
            atPath: "/usr/lib/python3/dist-packages/confluent_kafka")

        @Test(.needsBuiltWorkers, .enabled(if: hasClient, "install python3-confluent-kafka"))
        func `a copy that follows the feed, and one that begins later, hold all rows`() async throws {
            let traffic = try DemoTraffic(seed: 11, bodyCount: 200)
            try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
                let first = "\(pipeline.folder)/first.sqlite"
                // Before there is anything to read.
                #expect(try Self.follow(pipeline, first) == 0)
                try pipeline.startAll()
                try await pipeline.waitUntilReady()
                let half = traffic.items.count / 2
                try await pipeline.publish(Array(traffic.items.prefix(half)))
                try await pipeline.settle()
                var seen = try Self.follow(pipeline, first)
                try await pipeline.publish(Array(traffic.items.dropFirst(half)))
                try await pipeline.settle()
                seen += try Self.follow(pipeline, first)
                #expect(try Self.follow(pipeline, first) == 0)

                let (changes, rows) = try await pipeline.withDatabase { connection in
                    let changes = try await connection.query("SELECT count(*) FROM changes")
                    let rows = try await connection.query(Self.rows)
                    return (changes[0].int8(0), Set(rows.map { $0.text(0) }))
                }
                // Each change once, although the feed was read in three parts.
                #expect(seen == changes && seen > 50)
                #expect(try Self.copied(first) == rows)
                try await pipeline.withDatabase { try await Self.expectAnswers(of: first, as: $0) }

                let later = "\(pipeline.folder)/later.sqlite"
                #expect(try Self.follow(pipeline, later) == 0)
                #expect(try Self.copied(later) == rows)

                // As when retention has removed the records at its place.
                _ = try Self.python(["-c", Self.placeMover, later])
                #expect(try Self.runExample(pipeline, later).status == 1)
            }
        }

        private static let rows = """
            SELECT concat_ws('|', user_id, environment, bundle_id, original_transaction_id,
                entitlement_key, (
                    SELECT string_agg(
                        (extract(epoch FROM lower(span)) * 1000)::int8 || '-'
                        || coalesce((extract(epoch FROM upper(span)) * 1000)::int8::text, 'None'),
                        ',' ORDER BY span)
                    FROM unnest(periods) AS span))
            FROM entitlements
            """

        /// Compares who may use what by the copy and by SQL; a refund and an end are among them.
        private static func expectAnswers(of file: String, as connection: PostgresConnection) async throws {
            let asked = try await connection.query(held)
            let answers = try python(["-B", "-c", copyAsker, file, scripts.path]).split(separator: "\n").map(
                String.init)
            #expect(Set(answers) == Set(asked.map { $0.text(0) }))
            for cause in ["active", "refunded", "expired"] {
                #expect(asked.contains { $0.text(1) == cause }, "\(cause)")
            }
        }

        /// The entitlements of users, and one reason each why it is active or not.
        private static let held = """
            SELECT concat_ws('|', user_id, entitlement_key, CASE WHEN
                    has_entitlement(user_id, entitlement_key) THEN 'True' ELSE 'False' END),
                CASE WHEN has_entitlement(user_id, entitlement_key) THEN 'active'
                    WHEN bool_or(revoked_at IS NOT NULL) THEN 'refunded' ELSE 'expired' END
            FROM entitlement_details WHERE environment = 'Production'
            GROUP BY user_id, entitlement_key
            """

        private static let copyAsker = """
            import sys, time
            sys.path.insert(0, sys.argv[2])
            from feed_consumer import Copy
            copy = Copy(sys.argv[1])
            rows = "SELECT DISTINCT user, entitlement FROM entitlements WHERE environment = 'Production'"
            for user, key in copy.file.execute(rows).fetchall():
                print("|".join([user, key, str(copy.may_use(user, key, time.time_ns() // 1_000_000))]))
            """

        private static let copyReader = """
            import json, sqlite3, sys
            for *key, periods in sqlite3.connect(sys.argv[1]).execute("SELECT * FROM entitlements"):
                spans = (f"{span['start']}-{span['end']}" for span in json.loads(periods))
                print("|".join(key + [",".join(spans)]))
            """

        private static let placeMover = """
            import sqlite3, sys
            with sqlite3.connect(sys.argv[1]) as file:
                file.execute("UPDATE places SET next = 1000000")
            """

        private static func copied(_ file: String) throws -> Set<String> {
            let lines = try python(["-c", copyReader, file]).split(separator: "\n")
            return Set(lines.map(String.init))
        }

        private static let scripts = ReferenceScript.root.appending(path: "deploy/examples")

        /// Runs the example to the end of the feed.
        private static func runExample(_ pipeline: RunningPipeline, _ file: String) throws -> ProgramRun {
            try ProgramRun(
                "/usr/bin/python3",
                ["-B", "\(scripts.path)/feed_consumer.py", file, "--prefix", pipeline.layout.prefix, "--until-end"],
                environment: ["KAFKA_BOOTSTRAP": pipeline.cluster.bootstrapServers], takesErrors: false)
        }

        /// Brings the copy up to the end of the feed.
        ///
        /// - Returns: how many changes were new to it.
        private static func follow(_ pipeline: RunningPipeline, _ file: String) throws -> Int64 {
            let run = try runExample(pipeline, file)
            #expect(run.isSuccess)
            return Int64(run.text.split(separator: "\n").count)
        }

        private static func python(_ arguments: [String]) throws -> String {
            let run = try ProgramRun("/usr/bin/python3", arguments, takesErrors: false)
            #expect(run.isSuccess)
            return run.text
        }
    }
}
