import AppStore
import Entitlements
import Kafka
import Postgres
import TestSupport
import Testing
import Worker

@testable import EntitleStage

/// Repetitions of the feed after requests that may be served late.
@Suite(.timeLimit(.minutes(10))) struct FeedRepetitionTests {
    /// A worker with one purchase of one user, at version 1.
    private static func worker() async throws -> EntitleWorker {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): Ownership(userID: "anna", rule: .accountToken)])
        _ = try await worker.process([try Signed.transaction("1", signed: 1)])
        return worker
    }

    /// Another copy of the worker, after the lease of the former has expired.
    private static func next(after worker: EntitleWorker) async throws -> EntitleWorker {
        try await worker.endLease()
        return try await EntitleWorker(on: worker.client)
    }

    /// The user's next version.
    private static func change(_ worker: EntitleWorker) async throws {
        _ = try await worker.process([try Signed.transaction("1", signed: 2, revoked: 50)])
    }

    /// The version that a compacted topic keeps of the user.
    private static func kept(_ records: [ProducerRecord]) throws -> Int64? {
        try Published(records).states.last?.version
    }

    private static func leaseEnd(_ worker: EntitleWorker) async throws -> Int64 {
        try await worker.client.query("SELECT until FROM feed_lease")[0].timestamp(0)
    }

    @Test func `a killed copy's late request does not remain the newest state`() async throws {
        let worker = try await Self.worker()
        let late = try await worker.killedWhilePublishing()
        let second = try await Self.next(after: worker)
        try await Self.change(second)
        var log = try await second.published().records
        await second.feed.close()
        #expect(try Self.kept(log) == 2)
        // The broker, or the network, delivers it only now.
        log += late
        #expect(try Self.kept(log) == 1)
        let third = try await EntitleWorker(on: worker.client)
        #expect(try await third.published().isEmpty)
        try await worker.endRepetitionDelay()
        let fourth = try await EntitleWorker(on: worker.client)
        log += try await fourth.published().records
        #expect(try Self.kept(log) == 2)
        #expect(try await fourth.published().isEmpty)
        #expect(try await worker.count("feed_repetitions") == 0)
    }

    @Test func `the state is repeated when no request can be in flight any more`() async throws {
        let worker = try await Self.worker()
        _ = try await worker.killedWhilePublishing()
        let second = try await Self.next(after: worker)
        try await Self.change(second)
        _ = try await second.published()
        let noted = try await worker.client.query(
            """
            SELECT user_id, due >= changed_at + interval '120 seconds',
                   due <= clock_timestamp() + interval '120 seconds'
            FROM feed_repetitions JOIN changes USING (user_id) WHERE version = 2
            """)
        let row = try #require(noted.first)
        #expect(row.text(0) == "anna")
        #expect(row.bool(1))
        #expect(row.bool(2))
    }

    @Test func `it is repeated too if the next copy is killed before its mark`() async throws {
        let worker = try await Self.worker()
        var late = try await worker.killedWhilePublishing()
        let second = try await Self.next(after: worker)
        try await Self.change(second)
        late += try await second.killedWhilePublishing()
        #expect(try await worker.count("feed_repetitions") == 0)
        let third = try await Self.next(after: second)
        var log = try await third.published().records
        await third.feed.close()
        log += late.reversed()
        #expect(try Self.kept(log) == 1)
        try await worker.endRepetitionDelay()
        log += try await EntitleWorker(on: worker.client).published().records
        #expect(try Self.kept(log) == 2)
    }

    @Test func `a copy that stops in order, or is killed at rest, leaves nothing to repeat`() async throws {
        let worker = try await Self.worker()
        #expect(try await worker.published().states.count == 1)
        await worker.feed.close()
        let second = try await EntitleWorker(on: worker.client)
        try await Self.change(second)
        #expect(try await second.published().states.map(\.version) == [2])
        let third = try await Self.next(after: second)
        _ = try await third.process([try Signed.transaction("1", signed: 3)])
        #expect(try await third.published().states.map(\.version) == [3])
        #expect(try await worker.count("feed_repetitions") == 0)
    }

    @Test func `a copy that stops with requests in flight lets the lease expire`() async throws {
        let worker = try await Self.worker()
        let late = try await worker.killedWhilePublishing()
        let end = try await Self.leaseEnd(worker)
        await worker.feed.close()
        #expect(try await Self.leaseEnd(worker) == end)
        let second = try await Self.next(after: worker)
        let (again, sent) = (try await second.published(), try Published(late))
        #expect((again.changes + again.states).map(\.label) == (sent.changes + sent.states).map(\.label))
        #expect(try await worker.count("feed_repetitions") == 1)
        // And it confirms the same: nothing is in flight any more.
        await second.feed.close()
        #expect(try await Self.leaseEnd(worker) != end)
    }

    @Test func `a copy that continues after a delivery in doubt repeats the states`() async throws {
        let worker = try await Self.worker()
        var log = try await worker.killedWhilePublishing()
        try await Self.change(worker)
        log = try await worker.published().records + log
        #expect(try Self.kept(log) == 1)
        await worker.feed.close()
        try await worker.endRepetitionDelay()
        log += try await EntitleWorker(on: worker.client).published().records
        #expect(try Self.kept(log) == 2)
    }

    @Test func `a copy without the lease removes nothing from the outbox`() async throws {
        let worker = try await Self.worker()
        let second = try await EntitleWorker(on: worker.client)
        // The first stands still while the second begins, and its request arrives long before the
        // third.
        let late = WrittenRecords()
        try await worker.feed.empty { _ in
            try await worker.endLease()
            late.append(try await second.killedWhilePublishing())
        }
        try await worker.endRepetitionDelay()
        let third = try await Self.next(after: second)
        try await Self.change(third)
        var log = try await third.published().records
        await third.feed.close()
        log += late.all
        #expect(try Self.kept(log) == 1)
        try await worker.endRepetitionDelay()
        log += try await EntitleWorker(on: worker.client).published().records
        #expect(try Self.kept(log) == 2)
    }

    @Test func `a user with a change in progress is repeated after it`() async throws {
        let worker = try await Self.worker()
        _ = try await worker.killedWhilePublishing()
        let second = try await Self.next(after: worker)
        _ = try await second.published()
        await second.feed.close()
        try await worker.endRepetitionDelay()
        let third = try await EntitleWorker(on: worker.client)
        try await worker.client.transaction { connection in
            _ = try await connection.query("UPDATE user_versions SET version = version")
            #expect(try await third.published().isEmpty)
        }
        try await Self.change(third)
        let versions = try await EntitleWorker(on: worker.client).published().changes.map(\.version)
        #expect(versions == [2, 2])
    }
}
