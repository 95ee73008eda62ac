import Foundation
import Kafka
import Postgres
import Records
import Simulation
import Store
import TestSupport
import Testing
import Topology
import Worker

extension PipelineTests {
    /// `recovery-worker` after an outage of the ingestion service.
    @Suite(.timeLimit(.minutes(20))) struct RecoveryWorkerTests {
        @Test func `what ingestion has lost is fetched, and no row differs in the end`()
            async throws
        {
            let now = Int64(Date().timeIntervalSince1970 * 1_000)
            let traffic = try DemoTraffic(seed: 11, bodyCount: 500, now: now)
            var whole: RowPicture?
            try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
                try pipeline.startAll()
                try await pipeline.publish(traffic.items)
                try await pipeline.settle()
                whole = try await pipeline.withDatabase { try await RowPicture($0) }
            }
            let wanted = try #require(whole)
            let lost = traffic.lostNotifications(now: now)
            #expect(lost.count > 20)
            let arrived = traffic.items.indices.filter { !lost.contains($0) }
            let apple = try SimulatedApple(traffic)
            defer { apple.stop() }
            try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
                try pipeline.startAll()
                try await pipeline.publish(arrived.map { traffic.items[$0] })
                try await pipeline.settle()
                let rows = try await pipeline.withDatabase { try await RowPicture($0) }
                #expect(rows != wanted)
                try await Self.recover(pipeline, apple)
                let differences = try await pipeline.withDatabase {
                    try await RowPicture($0).differences(from: wanted)
                }
                #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
            }
        }

        /// Kills the worker twice while it works, and waits until the account is complete.
        private static func recover(
            _ pipeline: RunningPipeline,
            _ apple: SimulatedApple
        ) async throws {
            let since = Date(timeIntervalSinceNow: -170 * 86_400)
            let command = ["reconcile", "--with-apple", "--since", since.ISO8601Format()]
            #expect(await pipeline.operate(command).code == 1)
            for pages in [40, 120] {
                let worker = try pipeline.start(.recovery, environment: apple.environment)
                try await eventually {
                    try pipeline.requireRunning()
                    return apple.server.requests.count > pages
                }
                try await pipeline.kill(worker)
            }
            let worker = try pipeline.start(.recovery, environment: apple.environment)
            var answer = await pipeline.operate(command)
            try await eventually(within: .seconds(180), every: .milliseconds(500)) {
                try pipeline.requireRunning()
                answer = await pipeline.operate(command)
                // On its way is not held yet.
                return answer.code == 0
                    && worker.metric("recovery_open_notifications") == 0
            }
            #expect(answer.code == 0, "\(answer.output)\n\(worker.log.lines.suffix(5))")
            #expect(worker.sum("recovery_requests_total", #"result="ok""#) > 0)
            #expect(!worker.log.lines.joined().contains("eyJ"))
            try await Self.checkQuestions(pipeline)
            try await pipeline.stop(worker)
        }

        /// Asks as support does, about purchases that Apple knows and does not know.
        private static func checkQuestions(_ pipeline: RunningPipeline) async throws {
            let app = DemoApp.pro.bundleID
            let (id, user) = try await pipeline.withDatabase { connection in
                let row = try await connection.query(
                    """
                    SELECT fact.transaction_id, owners.user_id
                    FROM transactions AS fact JOIN owners
                    USING (environment, bundle_id, original_transaction_id)
                    WHERE fact.track = 'jws' AND fact.bundle_id = $1
                      AND fact.environment = 'Production' AND owners.user_id IN (
                        SELECT user_id FROM entitlements)
                    ORDER BY 1 LIMIT 1
                    """,
                    [.text(app)]
                )[0]
                return (row.text(0), row.text(1))
            }
            for (arguments, code) in [
                (["--order", "M\(id)", "--bundle", app], 0), (["--user", user], 0),
                (["--order", "M1", "--bundle", app], 1), (["--user", "nobody"], 1),
                // There are two apps.
                (["--order", "M\(id)"], 64),
            ] as [([String], Int32)] {
                let answer = await pipeline.operate(["recover", "apple"] + arguments)
                #expect(answer.code == code, "\(arguments): \(answer.output)\(answer.notes)")
            }
        }
    }
}
