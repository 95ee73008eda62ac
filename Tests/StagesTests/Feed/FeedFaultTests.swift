import Entitlements
import Postgres
import Telemetry
import TestSupport
import Testing
import Worker

@testable import EntitleStage

/// A user with data that PostgreSQL rejects must not stop the feed for others.
@Suite(.timeLimit(.minutes(10))) struct FeedFaultTests {
    private static let count = 9
    private static let bad = "user-4"

    /// Nine users with a change each.
    private static func worker() async throws -> EntitleWorker {
        let worker = try await EntitleWorker()
        for number in 0..<count {
            let owner = Ownership(userID: "user-\(number)", rule: .accountToken)
            try await worker.own([Signed.key("\(number)"): owner])
        }
        _ = try await worker.process(try (0..<count).map { try Signed.transaction("\($0)", signed: 1) })
        return worker
    }

    private static func refusedCount(_ worker: EntitleWorker) -> String? {
        String(decoding: worker.registry.exposition(), as: UTF8.self).split(separator: "\n").first {
            $0.hasPrefix(#"entitlements_entitle_refused_items_total{work="feed"}"#)
        }.map { String($0.split(separator: " ")[1]) }
    }

    /// Reads `new_periods` of each change by an expression.
    private static func readPeriods(_ worker: EntitleWorker, as periods: String) async throws {
        _ = try await worker.client.query("ALTER TABLE changes RENAME TO all_changes")
        _ = try await worker.client.query(
            """
            CREATE VIEW changes AS
            SELECT user_id, version, environment, bundle_id, original_transaction_id,
                entitlement_key, grant_id, old_periods, \(periods) AS new_periods,
                ownership_type, seats, additional_transaction_reason, will_renew, renews_to,
                is_in_billing_retry, price_increase, expiration_reason, grace, cause, cause_id, event,
                former_user_id, catalog_version, source_topic, source_partition, source_offset,
                changed_at
            FROM all_changes
            """)
    }

    @Test func `an unreadable change is skipped and reported`() async throws {
        let worker = try await Self.worker()
        let isBad = "user_id = '\(Self.bad)' AND 1 / (version - version) = 0"
        try await Self.readPeriods(worker, as: "CASE WHEN \(isBad) THEN NULL ELSE new_periods END")
        let published = try await worker.published()
        #expect(
            Set(published.changes.map(\.userID)) == Set((0..<Self.count).map { "user-\($0)" }).subtracting([Self.bad]))
        #expect(try await worker.count("unpublished_changes") == 0)
        #expect(Self.refusedCount(worker) == "1")

        // The batches that it made small grow again.
        _ = try await worker.client.query("DROP VIEW changes")
        _ = try await worker.client.query("ALTER TABLE all_changes RENAME TO changes")
        let later = Self.count..<Self.count + 60
        for number in later {
            let owner = Ownership(userID: "user-\(number)", rule: .accountToken)
            try await worker.own([Signed.key("\(number)"): owner])
        }
        _ = try await worker.process(try later.map { try Signed.transaction("\($0)", signed: 1) })
        let batches = WrittenRecords()
        try await worker.feed.empty { records in batches.append([records[0]]) }
        #expect(try await worker.count("unpublished_changes") == 0)
        #expect(batches.all.count < 20)
    }

    @Test func `changes that take longer to read than a lease may be old are published`() async throws {
        let worker = try await Self.worker()
        let slowly = "CASE WHEN pg_sleep(0.25) IS NULL THEN NULL ELSE new_periods END"
        try await Self.readPeriods(worker, as: slowly)
        #expect(try await worker.published().changes.count == Self.count)
        #expect(try await worker.count("unpublished_changes") == 0)
    }

    @Test func `a repetition that cannot be marked holds nobody up`() async throws {
        let worker = try await Self.worker()
        _ = try await worker.killedWhilePublishing()
        try await worker.endLease()
        _ = try await worker.client.query("ALTER TABLE feed_repetitions ADD CHECK (user_id <> '\(Self.bad)')")
        let next = try await EntitleWorker(on: worker.client)
        let published = try await next.published()
        #expect(published.changes.count == Self.count)
        #expect(try await worker.count("unpublished_changes") == 0)
        #expect(try await worker.count("feed_repetitions") == Int64(Self.count - 1))
        #expect(Self.refusedCount(next) == "1")
    }
}
