import AppStore
import Entitlements
import JSON
import Kafka
import Postgres
import Telemetry
import TestSupport
import Testing
import Worker

@testable import EntitleStage

/// Users with more entitlements than a record can carry.
@Suite(.timeLimit(.minutes(10))) struct LargeFeedTests {
    /// A user with many purchases, one of which never ends, and another user with one.
    private static func worker(_ count: Int) async throws -> EntitleWorker {
        let worker = try await EntitleWorker()
        _ = try await worker.client.query(
            """
            INSERT INTO entitlements (environment, bundle_id, original_transaction_id,
                entitlement_key, user_id, periods)
            SELECT 'Production', 'com.example.app', 'purchase-' || n, 'key-' || n, 'hoarder',
                tstzmultirange(tstzrange(
                    timestamptz '2026-01-01' + n * interval '1 minute',
                    CASE WHEN n = 7 THEN NULL
                        ELSE timestamptz '2026-02-01' + n * interval '1 minute' END))
            FROM generate_series(1, \(count)) AS n
            """)
        let anna = Ownership(userID: "anna", rule: .accountToken)
        let hoarder = Ownership(userID: "hoarder", rule: .accountToken)
        try await worker.own([Signed.key("1"): hoarder, Signed.key("2"): anna])
        _ = try await worker.process([try Signed.transaction("1", signed: 1), try Signed.transaction("2", signed: 1)])
        return worker
    }

    private static func count(_ name: String, _ worker: EntitleWorker) -> String? {
        String(decoding: worker.registry.exposition(), as: UTF8.self).split(separator: "\n").first {
            $0.hasPrefix("entitlements_\(name) ")
        }.map { String($0.split(separator: " ")[1]) }
    }

    @Test func `a state too large for a record holds what lasts longest, and says so`() async throws {
        let worker = try await Self.worker(12_000)
        let published = try await worker.published()
        #expect(published.states.map(\.userID).sorted() == ["anna", "hoarder"])
        let state = try #require(published.states.first { $0.userID == "hoarder" }).value
        let held = state["entitlements"]?.elements.map(\.self) ?? []
        #expect(published.records.allSatisfy { ($0.value?.count ?? 0) <= 2_000_000 })
        #expect(held.count > 5_000)
        #expect(state["omitted"]?["entitlements"]?.int64 == Int64(12_001 - held.count))
        // The one without an end, and then those that end last.
        let keys = held.compactMap { $0["entitlement"]?.string }
        #expect(keys.contains("key-7"))
        #expect(keys.contains("key-12000"))
        #expect(!keys.contains("key-1"))
        let verdict = try PublishedSchema.topics.validate(
            published.records.filter { $0.topic.hasSuffix("current") }.compactMap(\.value),
            against: "entitlements.current")
        #expect(verdict.isValid, "\(verdict.report)")
        #expect(Self.count("feed_incomplete_records_total", worker) == "1")
        let whole = try await worker.client.query("SELECT count(*) FROM held_entitlements('hoarder')")
        #expect(whole[0].int8(0) == 12_001)
    }

    @Test func `a change too large for a record holds the last periods, and says so`() async throws {
        let worker = try await Self.worker(1)
        _ = try await worker.published()
        _ = try await worker.client.query(
            """
            INSERT INTO changes (user_id, version, environment, bundle_id,
                original_transaction_id, entitlement_key, old_periods, new_periods, cause)
            SELECT 'anna', 2, 'Production', 'com.example.app', '2', 'pro', '{}',
                range_agg(tstzrange(
                    timestamptz '2000-01-01' + n * interval '1 hour',
                    timestamptz '2000-01-01' + n * interval '1 hour' + interval '1 minute')),
                'rebuild'
            FROM generate_series(1, 60000) AS n
            """)
        _ = try await worker.client.query("UPDATE user_versions SET version = 2")
        let published = try await worker.published()
        let change = try #require(published.changes.first).value
        let kept = change["new"]?.elements.map(\.self) ?? []
        #expect(kept.count > 10_000)
        #expect(change["omitted"]?["new"]?.int64 == Int64(60_000 - kept.count))
        let last: Int64 = 946_684_800_000 + 60_000 * 3_600_000 + 60_000
        #expect(kept.last?["end"]?.int64 == last)
        let verdict = try PublishedSchema.topics.validate(
            published.records.filter { $0.topic.hasSuffix("changed") }.compactMap(\.value),
            against: "entitlements.changed")
        #expect(verdict.isValid, "\(verdict.report)")
    }

    @Test func `a topic with a smaller limit does not stop the feed`() async throws {
        let worker = try await Self.worker(2_000)
        let published = WrittenRecords()
        // As a broker refuses, and the loop comes again.
        try await eventually {
            do {
                try await worker.feed.empty { records in
                    for record in records where (record.value?.count ?? 0) >= 100_000 {
                        throw UndeliveredRecord(
                            record, KafkaError(code: .messageTooLarge, name: "TOO_LARGE", message: ""))
                    }
                    published.append(records)
                }
                return true
            } catch is UndeliveredRecord { return false }
        }
        let states = try Published(published.all).states
        #expect(states.map(\.userID).sorted() == ["anna", "hoarder"])
    }

    @Test func `the waiting changes are shown with their age`() async throws {
        let worker = try await Self.worker(1)
        let other = try await EntitleWorker(on: worker.client)
        try await worker.endLease()
        try await other.feed.empty { _ in
            let watching = try await EntitleWorker(on: worker.client)
            try await watching.feed.empty { _ in }
            #expect(Self.count("feed_waiting_changes", watching) == "2")
            #expect(Self.count("feed_oldest_waiting_seconds", watching) != "0")
        }
        let later = try await EntitleWorker(on: worker.client)
        try await later.feed.empty { _ in }
        #expect(Self.count("feed_waiting_changes", later) == "0")
        #expect(Self.count("feed_oldest_waiting_seconds", later) == "0")
    }
}
