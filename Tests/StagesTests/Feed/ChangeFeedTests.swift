import AppStore
import Entitlements
import JSON
import Kafka
import Postgres
import Records
import Store
import TestSupport
import Testing
import Worker

@testable import EntitleStage

/// The published entitlements of users.
@Suite(.timeLimit(.minutes(10))) struct ChangeFeedTests {
    private static let anna = Ownership(userID: "anna", rule: .accountToken)
    private static let bob = Ownership(userID: "bob", rule: .accountToken)

    /// Some purchases of two users, and the records published so far.
    private static func worker(_ count: Int = 4) async throws -> EntitleWorker {
        let worker = try await EntitleWorker()
        for number in 1...count { try await worker.own([Signed.key("\(number)"): number % 2 == 0 ? anna : bob]) }
        return worker
    }

    private static func buy(_ worker: EntitleWorker, _ numbers: ClosedRange<Int>) async throws {
        _ = try await worker.process(try numbers.map { try Signed.transaction("\($0)", signed: 1) })
    }

    @Test func `a change is published after its commit, in the order of its versions`() async throws {
        let worker = try await Self.worker()
        #expect(try await worker.published().isEmpty)
        try await Self.buy(worker, 1...4)
        _ = try await worker.process([try Signed.transaction("2", signed: 2, revoked: 50)])
        let published = try await worker.published()
        #expect(published.changes.map(\.label).sorted() == ["anna 1", "anna 2", "anna 3", "bob 1", "bob 2"])
        #expect(published.changes.filter { $0.userID == "anna" }.map(\.version) == [1, 2, 3])
        #expect(try await worker.published().isEmpty)
        let last = try #require(published.changes.last { $0.userID == "anna" })
        #expect(last.value["new"]?.elements.map { $0["end"]?.int64 } == [50])
        #expect(last.value["old"]?.elements.map { $0["end"]?.int64 } == [1000])
        #expect(last.value["cause"]?["kind"]?.string == "transaction")
        #expect(last.value["cause"]?["source"]?["topic"]?.string == "storekit.raw")
    }

    @Test func `the state of a forgotten user is a tombstone while nothing is held`() async throws {
        let worker = try await Self.worker(2)
        func states(_ owner: Ownership?) async throws -> [String] {
            if let owner {
                try await worker.own([Signed.key("1"): owner])
                _ = try await worker.process([Observation.relinking(Signed.key("1"))])
            }
            return try await worker.published().records.filter { $0.topic == "storekit.entitlements.current" }.map {
                "\(String(decoding: $0.key ?? [], as: UTF8.self)) \($0.value == nil ? "gone" : "known")"
            }
        }
        try await Self.buy(worker, 1...2)
        #expect(try await states(nil).sorted() == ["anna known", "bob known"])
        _ = try await worker.client.query("SELECT forget_user('bob', 'dpo', 'asked')")
        #expect(try await states(nil) == ["bob known"], "the purchase is still theirs")
        #expect(try await states(Ownership(spans: [], rule: .unlinked)) == ["bob gone"])
        #expect(try await states(Self.bob) == ["bob known"])
        #expect(try await states(Ownership(spans: [], rule: .unlinked)) == ["bob gone"])
        // A request about a user who holds nothing removes what was published before.
        _ = try await worker.client.query("SELECT forget_user('bob', 'dpo', 'asked again')")
        #expect(try await states(nil) == ["bob gone"])
    }

    @Test func `a refund and an end say that nothing is active, a present period until when it is`() async throws {
        let worker = try await Self.worker(6)
        let (forever, later) = (Int64(9_000_000_000_000), Int64(8_000_000_000_000))
        _ = try await worker.process([
            try Signed.transaction("2", signed: 1), try Signed.transaction("4", signed: 1, expires: forever),
            try Signed.transaction("6", signed: 1, expires: forever, revoked: 50),
        ])
        _ = try await worker.client.query(
            "SELECT grant_entitlement('anna', 'extra', to_timestamp(\(later) / 1000.0), 'sorry', 'support')")
        let published = try await worker.published()
        let state = try #require(published.states.last).value
        #expect(state["asOf"]?.int64 ?? 0 > 1_700_000_000_000)
        for listed in [published.changes.map(\.value), state["entitlements"]?.elements.map(\.self) ?? []] {
            // The grant, which has no purchase, comes last.
            let entries = listed.sorted {
                $0["originalTransactionID"]?.string ?? "9" < $1["originalTransactionID"]?.string ?? "9"
            }
            #expect(entries.map { $0["isActive"]?.bool } == [false, true, false, true])
            #expect(entries.map { $0["activeUntil"]?.int64 } == [nil, forever, nil, later])
        }
    }

    @Test func `published records fit their schemas`() async throws {
        let worker = try await Self.worker()
        try await worker.apply(catalog: Array(#"{"products":{}}"#.utf8))
        try await Self.buy(worker, 1...4)
        try await worker.own([Signed.key("1"): Ownership(spans: [], rule: .unlinked)])
        _ = try await worker.process([Observation.relinking(Signed.key("1"))])
        let records = try await worker.published().records
        for topic in ["entitlements.changed", "entitlements.current"] {
            let values = records.filter { $0.topic == "storekit.\(topic)" }.compactMap(\.value)
            #expect(!values.isEmpty)
            let verdict = try PublishedSchema.topics.validate(values, against: topic)
            #expect(verdict.isValid, "\(verdict.report)")
        }
    }

    @Test func `a manual grant is published like any change, and never counts as a purchase`() async throws {
        let worker = try await Self.worker(2)
        try await Self.buy(worker, 2...2)
        _ = try await worker.client.query("SELECT grant_entitlement('anna', 'extra', NULL, 'sorry', 'support')")
        let published = try await worker.published()
        #expect(published.changes.map(\.label) == ["anna 1", "anna 2"])
        let granted = try #require(published.changes.last).value
        #expect(granted["cause"]?["kind"]?.string == "grant")
        #expect(granted["originalTransactionID"]?.isNull == true)
        let state = try #require(published.states.last).value
        let held = Array(state["entitlements"]?.elements.map(\.self) ?? [])
        #expect(held.compactMap { $0["grantID"]?.int64 } == [1])
        #expect(held.compactMap { $0["originalTransactionID"]?.string } == ["2"])
        for topic in ["entitlements.changed", "entitlements.current"] {
            let values = published.records.filter { $0.topic == "storekit.\(topic)" }
            let verdict = try PublishedSchema.topics.validate(values.compactMap(\.value), against: topic)
            #expect(verdict.isValid, "\(verdict.report)")
        }
    }

    @Test func `a reader of the states alone knows the rows`() async throws {
        let worker = try await Self.worker(20)
        var states: [String: JSONValue] = [:]
        for round in 0..<5 {
            try await Self.buy(worker, (round * 4 + 1)...(round * 4 + 4))
            for state in try await worker.published().states { states[state.userID] = state.value }
        }
        for (user, state) in states {
            let held = try await worker.client.query(
                "SELECT original_transaction_id FROM entitlements WHERE user_id = $1 ORDER BY 1", [.text(user)]
            ).map { $0.text(0) }
            #expect(state["entitlements"]?.elements.compactMap { $0["originalTransactionID"]?.string } == held)
            #expect(state["version"]?.int64 == 10)
        }
        #expect(states.count == 2)
    }

    @Test func `a crash publishes again from the same change on`() async throws {
        struct Crash: Error {}
        let worker = try await Self.worker()
        try await Self.buy(worker, 1...4)
        await #expect(throws: Crash.self) { try await worker.feed.empty { _ in throw Crash() } }
        // Another copy may begin after the lease of the first has expired.
        try await worker.endLease()
        let next = try await EntitleWorker(on: worker.client)
        #expect(try await next.published().changes.map(\.label).sorted() == ["anna 1", "anna 2", "bob 1", "bob 2"])
    }

    @Test func `one copy publishes at a time`() async throws {
        let worker = try await Self.worker()
        let other = try await EntitleWorker(on: worker.client)
        try await Self.buy(worker, 1...2)
        #expect(try await worker.published().changes.count == 2)
        try await Self.buy(other, 3...4)
        #expect(try await other.published().isEmpty)
        #expect(try await worker.published().changes.count == 2)
        // A copy that ends in order leaves the lease to the next one.
        await worker.feed.close()
        _ = try await worker.process([try Signed.transaction("1", signed: 2, revoked: 50)])
        #expect(try await other.published().changes.map(\.label) == ["bob 3"])
    }

    @Test func `a copy that published too late repeats the users' states`() async throws {
        let worker = try await Self.worker(2)
        try await Self.buy(worker, 1...2)
        let client = worker.client
        // While it stands still another copy gets the lease.
        try await worker.feed.empty { _ in _ = try await client.query("UPDATE feed_lease SET holder = 'other'") }
        try await worker.endLease()
        #expect(try await worker.published().states.map(\.userID).sorted() == ["anna", "bob"])
        #expect(try await worker.published().isEmpty)
    }

    @Test func `the lease is renewed for as long as the broker takes`() async throws {
        let worker = try await Self.worker(2)
        let other = try await EntitleWorker(on: worker.client)
        try await Self.buy(worker, 1...2)
        let client = worker.client
        try await worker.feed.empty { _ in
            let first = try await Self.leaseEnd(client)
            try await eventually { try await Self.leaseEnd(client) > first }
            // Another copy waits.
            try await other.feed.empty { _ in Issue.record("two copies publish at once") }
        }
        #expect(try await other.published().isEmpty)
    }

    @Test func `after a copy was killed the others wait for seconds`() async throws {
        let worker = try await Self.worker(2)
        try await Self.buy(worker, 1...2)
        let client = worker.client
        await #expect(throws: CancellationError.self) { try await worker.feed.empty { _ in throw CancellationError() } }
        // By the server's clock alone: the speed of this machine does not matter.
        let rest = try await client.query("SELECT until - clock_timestamp() <= interval '5 seconds' FROM feed_lease")
        #expect(rest[0].bool(0))
        let next = try await EntitleWorker(on: client)
        var published: [String] = []
        try await eventually {
            published += try await next.published().changes.map(\.label)
            return !published.isEmpty
        }
        #expect(published.sorted() == ["anna 1", "bob 1"])
    }

    @Test func `a copy that is cut off while publishing repeats the states`() async throws {
        struct Cut: Error {}
        let worker = try await Self.worker(2)
        try await Self.buy(worker, 1...2)
        let client = worker.client
        // Sent records may arrive at any time; another copy continues.
        await #expect(throws: Cut.self) { try await worker.feed.empty { _ in throw Cut() } }
        try await worker.endLease()
        let next = try await EntitleWorker(on: client)
        #expect(try await next.published().states.count == 2)
        // The first is back, and cannot know which of its records follow those of the other.
        #expect(try await worker.published().isEmpty)
        #expect(try await next.published().states.map(\.userID).sorted() == ["anna", "bob"])
    }

    /// A transaction of the publishing copy holds the row.
    @Test func `a copy without the lease does not wait for its row`() async throws {
        let worker = try await Self.worker(1)
        try await Self.buy(worker, 1...1)
        try await worker.client.withConnection { connection in
            _ = try await connection.run(FeedLeaseTable.hold, (holder: "one", changesMax: 9))
        }
        try await worker.client.transaction { transaction in
            _ = try await transaction.query("SELECT FROM feed_lease FOR UPDATE")
            try await worker.client.withConnection { other in
                _ = try await other.query("SET lock_timeout = '1s'")
                let request: FeedLeaseTable.Request = (holder: "other", changesMax: 9)
                #expect(try await other.run(FeedLeaseTable.hold, request).isEmpty)
                _ = try await other.query("RESET lock_timeout")
            }
        }
    }

    private static func leaseEnd(_ client: PostgresClient) async throws -> Int64 {
        try await client.query("SELECT until FROM feed_lease")[0].timestamp(0)
    }

    @Test func `one transaction's changes to two users are published for both`() async throws {
        let worker = try await Self.worker(1)
        try await Self.buy(worker, 1...1)
        _ = try await worker.published()
        try await worker.own([
            Signed.key("1"): Ownership(
                spans: [
                    OwnershipSpan(userID: "bob"), OwnershipSpan(userID: "anna", from: Timestamp(milliseconds: 500)),
                ], rule: .accountToken)
        ])
        _ = try await worker.process([Observation.relinking(Signed.key("1"))])
        let published = try await worker.published()
        #expect(published.changes.map(\.label).sorted() == ["anna 1", "bob 2"])
        #expect(published.changes.allSatisfy { $0.value["cause"]?["kind"]?.string == "link" })
        let transactions = try await worker.client.query(
            "SELECT count(DISTINCT xmin::text) FROM changes WHERE cause = 'link'")
        #expect(transactions[0].int8(0) == 1)
    }

    @Test func `copies that write and publish at once keep each user's order`() async throws {
        let worker = try await Self.worker(60)
        let client = worker.client
        let published = WrittenRecords()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for copy in 0..<3 {
                group.addTask {
                    let own = try await EntitleWorker(on: client)
                    for round in 0..<10 {
                        let number = copy * 20 + round * 2 + 1
                        try await Self.buy(own, number...(number + 1))
                        try await own.feed.empty { published.append($0) }
                    }
                    await own.feed.close()
                }
            }
            try await group.waitForAll()
        }
        try await worker.endLease()
        let rest = try await worker.published().records
        let all = try Published(published.all + rest)
        for user in ["anna", "bob"] {
            let versions = all.changes.filter { $0.userID == user }.map(\.version)
            #expect(versions == Array(1...30))
        }
    }
}
