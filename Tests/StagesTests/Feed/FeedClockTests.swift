import AppStore
import Entitlements
import Postgres
import TestSupport
import Store
import Testing
import Worker

@testable import EntitleStage

/// The database's clock goes back, so its former times lie in the future.
@Suite(.timeLimit(.minutes(10))) struct FeedClockTests {
    private static func worker() async throws -> EntitleWorker {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): Ownership(userID: "anna", rule: .accountToken)])
        _ = try await worker.process([try Signed.transaction("1", signed: 1)])
        return worker
    }

    @Test func `the lease of a copy that is gone ends as soon as before`() async throws {
        let worker = try await Self.worker()
        _ = try await worker.killedWhilePublishing()
        _ = try await worker.client.query("UPDATE feed_lease SET until = until + interval '1 hour'")
        let next = try await EntitleWorker(on: worker.client)
        try await eventually(every: .milliseconds(100)) { try await !next.published().isEmpty }
        await next.feed.close()
    }

    @Test func `a living copy keeps its lease`() async throws {
        let worker = try await Self.worker()
        let other = try await EntitleWorker(on: worker.client)
        try await worker.feed.empty { _ in
            _ = try await worker.client.query("UPDATE feed_lease SET until = until + interval '1 hour'")
            #expect(try await other.published().isEmpty)
            let left = try await worker.client.query(
                "SELECT until <= clock_timestamp() + interval '5 seconds' FROM feed_lease")
            #expect(left[0].bool(0))
        }
        #expect(try await worker.count("unpublished_changes") == 0)
    }

    @Test func `a repetition waits no longer than before`() async throws {
        let worker = try await Self.worker()
        _ = try await worker.client.query(
            """
            INSERT INTO feed_repetitions VALUES
                ('anna', clock_timestamp() + interval '1 hour')
            """)
        _ = try await worker.published()
        let left = try await worker.client.query(
            "SELECT due <= clock_timestamp() + interval '120 seconds' FROM feed_repetitions")
        #expect(left[0].bool(0))
    }

    @Test func `the age of a waiting change is never negative`() async throws {
        let worker = try await Self.worker()
        _ = try await worker.client.query("UPDATE changes SET changed_at = changed_at + interval '1 hour'")
        let age = try await worker.client.run(OutboxTable.backlog)[0].oldestSeconds
        #expect(age == 0)
    }
}
