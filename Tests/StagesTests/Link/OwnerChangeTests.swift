import AppStore
import EntitleStage
import Entitlements
import Kafka
import Postgres
import Records
import Simulation
import Telemetry
import TestSupport
import Testing
import Worker

@testable import Store
@testable import LinkStage

/// A changed owner is projected, and only a projection ends the wait for it.
@Suite(.timeLimit(.minutes(10))) struct OwnerChangeTests {
    private static func owned(_ id: String = "1") async throws -> LinkedPath {
        let path = try await LinkedPath()
        try await path.write("original_transaction_id", [(id, "anna")])
        #expect(try await path.emptyOutboxInVain() == 0)
        try await path.post([.purchase(id, until: 9_000_000_000_000)])
        return path
    }

    private static func changeCount(_ path: LinkedPath) async throws -> Int64 {
        try await path.client.query("SELECT count(*) FROM owner_changes")[0].int8(0)
    }

    /// Makes the next link observations due.
    private static func makeDue(_ path: LinkedPath) async throws {
        _ = try await path.client.query("UPDATE owner_changes SET send_due_at = now()")
    }

    @Test func `a new purchase costs no mark and no link observation beside its record`() async throws {
        let path = try await Self.owned()
        #expect(try await Self.changeCount(path) == 0)
        #expect(try await path.emptyOutboxInVain() == 0)
        try await path.project()
        #expect(try await path.held() == ["1 anna"])
    }

    @Test func `the first owner holds for the next record if the topic lost the first one`() async throws {
        let path = try await Self.owned()
        path.loseLinked()
        try await path.post([.purchase("1", "2", until: 9_000_000_000_000)])
        try await path.project()
        #expect(try await path.held() == ["1 anna"])
    }

    @Test func `a purchase that gets another owner before its record arrives is the latter's`() async throws {
        let path = try await Self.owned()
        path.loseLinked()
        try await path.write("original_transaction_id", [("1", "bob")])
        try await path.emptyOutbox()
        // There is nothing to project yet, which removes the mark.
        try await path.project()
        #expect(try await Self.changeCount(path) == 0)
        try await path.post([.purchase("1", until: 9_000_000_000_000)])
        try await path.project()
        #expect(try await path.held() == ["1 bob"])
    }

    @Test func `a first owner without a record is marked`() async throws {
        let path = try await LinkedPath()
        let token = LinkWorker.anna
        try await path.post([.purchase("1", token: token, until: 9_000_000_000_000)])
        try await path.project()
        _ = try await path.client.query("DELETE FROM owners")
        try await path.write("account_token", [(token, "anna")])
        try await path.emptyOutbox()
        try await path.project()
        #expect(try await path.held() == ["1 anna"])
    }

    @Test func `a purchase without an owner waits for no projection`() async throws {
        let path = try await LinkedPath()
        try await path.post([.purchase("1")])
        #expect(try await Self.changeCount(path) == 0)
    }

    @Test func `a lost link observation is sent again until one is projected`() async throws {
        let path = try await LinkedPath()
        try await path.post([.purchase("1", until: 9_000_000_000_000)])
        try await path.project()
        try await path.write("original_transaction_id", [("1", "anna")])
        #expect(try await path.emptyOutboxInVain() == 1)
        // Not at once: a sent one may be on its way.
        #expect(try await path.emptyOutboxInVain() == 0)
        for _ in 1...3 {
            try await Self.makeDue(path)
            #expect(try await path.emptyOutboxInVain() == 1)
        }
        try await Self.makeDue(path)
        try await path.emptyOutbox()
        try await path.project()
        #expect(try await path.held() == ["1 anna"])
        #expect(try await Self.changeCount(path) == 0)
    }

    @Test func `a link observation makes up for a record that the topic lost`() async throws {
        let path = try await LinkedPath()
        try await path.post([.purchase("1", until: 9_000_000_000_000)])
        try await path.project()
        try await path.write("original_transaction_id", [("1", "anna")])
        // The next record finds the owner, and would be the only cause of a projection.
        try await path.post([.purchase("1", signed: 2, until: 9_000_000_000_000)])
        path.loseLinked()
        #expect(try await path.emptyOutboxInVain() == 0)
        try await Self.makeDue(path)
        try await path.emptyOutbox()
        try await path.project()
        #expect(try await path.held() == ["1 anna"])
    }

    @Test func `access follows the owner even if the record itself is refused`() async throws {
        let path = try await LinkedPath()
        try await path.post([.purchase("1", until: 9_000_000_000_000)])
        try await path.project()
        try await path.write("original_transaction_id", [("1", "anna")])
        var contradicting = Sample.purchase("1", at: 2_000, signed: 9, until: 9_000_000_000_000)
        contradicting.transaction?.productID = "other"
        try await path.post([contradicting])
        let verdicts = try await path.project()
        #expect(verdicts.map(\.disposition) == [.deadLettered])
        #expect(try await path.held() == ["1 anna"])
        #expect(try await Self.changeCount(path) == 0)
    }

    @Test func `the answer to a duplicate holds the new owner's entitlements`() async throws {
        let path = try await LinkedPath()
        let purchase = Sample.purchase("1", until: 9_000_000_000_000)
        try await path.post([purchase])
        try await path.project()
        try await path.write("original_transaction_id", [("1", "anna")])
        var again = purchase
        again.isDuplicate = true
        again.headers = [KafkaHeader(name: "correlation-id", text: "request")]
        try await path.post([again])
        let outcome = try #require(try await path.project().first?.outcome)
        #expect(outcome.userID == "anna")
        #expect(String(decoding: outcome.entitlements ?? [], as: UTF8.self).contains(#""1""#))
    }

    @Test func `a change during a projection of the former owner is still projected`() async throws {
        let path = try await Self.owned()
        // A transaction holds the row: it is about to name another owner.
        let linking = try await path.client.connect()
        _ = try await linking.query("BEGIN")
        _ = try await linking.query("UPDATE owners SET user_id = 'bob'")
        _ = try await linking.run(OwnerChangeTable.record, [(Self.purchase, hasRecord: true)])
        try await path.project()
        #expect(try await path.held() == ["1 anna"])
        _ = try await linking.query("COMMIT")
        await linking.close()
        #expect(try await Self.changeCount(path) == 1)
        try await Self.makeDue(path)
        try await path.emptyOutbox()
        try await path.project()
        #expect(try await path.held() == ["1 bob"])
        #expect(try await Self.changeCount(path) == 0)
    }

    private static let purchase = PurchaseKey(
        environment: .production, bundleID: "com.example.pro", originalTransactionID: "1")

    @Test func `a projection of an earlier owner does not count for a later one`() async throws {
        let path = try await Self.owned()
        let change = (Self.purchase, hasRecord: true)
        _ = try await path.client.run(OwnerChangeTable.record, [change])
        let first = try await path.client.query("SELECT change_id FROM owner_changes")[0].int8(0)
        _ = try await path.client.run(OwnerChangeTable.record, [change])
        let sent = OwnerChangeTable.Due(
            key: Self.purchase, owner: ObservedOwner(userID: "anna", rule: "unlinked"), account: nil, change: first)
        // Neither does it make the later one due.
        _ = try await path.client.run(OwnerChangeTable.putBack, [sent])
        let row = try await path.client.query("SELECT change_id, sends::int8 FROM owner_changes")[0]
        #expect(row.int8(0) > first)
        #expect(row.int8(1) == 0)
        #expect(try await path.emptyOutboxInVain() == 0)
    }

    @Test func `the first projection beside the outbox uses every change of a bulk link`() async throws {
        let path = try await LinkedPath()
        let ids = (0..<3_000).map(String.init)
        try await path.post(ids.map { .purchase($0, until: 9_000_000_000_000) })
        try await path.project()
        try await path.write("original_transaction_id", ids.map { ($0, "user-\($0)") })
        async let sending: Void = path.emptyOutbox()
        let areHeld = try await becomesTrue(within: .seconds(60)) {
            try await path.project()
            return try await path.held().count == ids.count
        }
        try await sending
        #expect(areHeld)
        let left = try await Self.changeCount(path)
        #expect(left == 0, "\(left) wait for their repetition")
    }

    @Test func `the observations in flight are bounded, however many wait`() async throws {
        let path = try await LinkedPath()
        let count = OwnerChangeTable.inFlightCountMax + 700
        _ = try await path.client.query(
            """
            INSERT INTO owner_changes (
                environment, bundle_id, original_transaction_id, send_due_at)
            SELECT 'Production', 'com.example.pro', n::text, now()
            FROM generate_series(1, \(count)) AS n
            """)
        #expect(try await path.emptyOutboxInVain() == OwnerChangeTable.inFlightCountMax)
        #expect(try await path.emptyOutboxInVain() == 0)
        // A change that has waited for long no longer counts.
        _ = try await path.client.query("UPDATE owner_changes SET sent_at = sent_at - interval '1 hour'")
        #expect(try await path.emptyOutboxInVain() == 700)
    }

    @Test func `the delays between link observations grow up to a bound`() {
        let delays = (1...5).map { OwnerChangeTable.resendDelay(afterSends: $0) / .seconds(60) }
        #expect(delays == [1, 4, 16, 60, 60])
        #expect(OwnerChangeTable.resendDelay(afterSends: 1_000_000) == .seconds(3_600))
    }

    @Test func `the waiting projections are shown with their age`() async throws {
        let path = try await LinkedPath()
        _ = try await path.client.query(
            """
            INSERT INTO owner_changes (
                environment, bundle_id, original_transaction_id, send_due_at, changed_at)
            VALUES ('Production', 'com.example.pro', '1', now(), now() - interval '1 hour')
            """)
        try await path.emptyOutbox()
        let text = String(decoding: path.registry.exposition(), as: UTF8.self)
        #expect(text.contains("link_unprojected_purchases 1"), "\(text)")
        let line = text.split(separator: "\n").last { $0.contains("unprojected_seconds") }
        let seconds = try #require(line?.split(separator: " ").last.flatMap { Double($0) })
        #expect(seconds >= 3_600)
    }
}
