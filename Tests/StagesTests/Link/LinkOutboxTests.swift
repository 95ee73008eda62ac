import AppStore
import Entitlements
import Kafka
import Postgres
import Synchronization
import Telemetry
import TestSupport
import Store
import Testing

@testable import LinkStage
import Worker

/// Links written after their purchases.
@Suite(.timeLimit(.minutes(10))) struct LinkOutboxTests {
    private static let anna = LinkWorker.anna
    private static let bob = LinkWorker.bob

    /// Purchases without an owner: one with a token, one with an account, one alone.
    private static func unowned() async throws -> LinkWorker {
        let worker = try await LinkWorker()
        try await worker.settle([.purchase("1", token: anna), .purchase("2", account: "A"), .purchase("3")])
        #expect(try await worker.owners().allSatisfy { $0.hasSuffix("nobody unlinked") })
        return worker
    }

    @Test(arguments: [
        ("account_token", LinkWorker.anna, "1 anna account_token"),
        ("account_token", LinkWorker.anna.uppercased(), "1 anna account_token"),
        ("app_transaction_id", "A", "2 anna app_transaction_link"),
        ("original_transaction_id", "3", "3 anna original_transaction_link"),
    ]) func `a late link finds its purchase, and names the rule`(kind: String, key: String, owner: String) async throws
    {
        let worker = try await Self.unowned()
        try await worker.link(kind, key, "anna")
        let id = String(owner.prefix(1))
        #expect(try await worker.emptyOutbox() == ["\(id)=anna"])
        #expect(try await worker.owners().contains(owner))
        #expect(try await worker.emptyOutbox().isEmpty)
        #expect(try await Self.changeCount(worker) == 0)
        #expect(try await worker.unsentCount() == 0)
    }

    @Test(arguments: [
        ("original_transaction_id", "3", "Production/anna"), ("app_transaction_id", "A", "Production/app/A"),
    ]) func `it writes an unsigned link observation, under the account's key if there is one`(
        kind: String, id: String, key: String
    ) async throws {
        let worker = try await Self.unowned()
        try await worker.link(kind, id, "anna")
        let written = Mutex<[ProducerRecord]>([])
        try await worker.stage.outboxes[0].empty { records in written.withLock { $0 += records } }
        let first = written.withLock { $0.first }
        let record = try #require(first)
        #expect(record.topic == "storekit.linked")
        #expect(record.key.map { String(decoding: $0, as: UTF8.self) } == key)
        #expect(record.headers.isEmpty)
        let verdict = try PublishedSchema.topics.validate([record.value ?? []], against: "linked")
        #expect(verdict.isValid, "\(verdict.report)")
    }

    @Test func `a changed or removed link moves or ends entitlements`() async throws {
        let worker = try await Self.unowned()
        try await worker.link("account_token", Self.anna, "anna")
        try await worker.emptyOutbox()
        _ = try await worker.client.query("UPDATE account_links SET user_id = 'carl'")
        #expect(try await worker.emptyOutbox() == ["1=carl"])
        _ = try await worker.client.query("DELETE FROM account_links")
        #expect(try await worker.emptyOutbox() == ["1=nobody"])
        #expect(try await worker.owners()[0] == "1 nobody unlinked")
    }

    @Test func `purchases of the account follow the linked one`() async throws {
        let worker = try await LinkWorker()
        try await worker.settle([.purchase("1", token: Self.anna, account: "A"), .purchase("2", account: "A")])
        try await worker.link("account_token", Self.anna, "anna")
        let sent = try await worker.emptyOutbox().compactMap(\.self).sorted()
        #expect(sent == ["1=anna", "2=anna"])
        #expect(try await worker.owners()[1] == "2 anna sibling_purchase")
    }

    @Test func `a link of another app or environment has no effect here`() async throws {
        let worker = try await Self.unowned()
        _ = try await worker.client.query(
            """
            INSERT INTO account_links (kind, environment, bundle_id, key, user_id) VALUES
                ('original_transaction_id', 'Sandbox', '', '3', 'anna'),
                ('original_transaction_id', '', 'com.example.other', '3', 'anna')
            """)
        #expect(try await worker.emptyOutbox().isEmpty)
        #expect(try await worker.owners()[2] == "3 nobody unlinked")
    }

    @Test(arguments: [
        (OwnershipPolicy.transfer, "1 bob account_token"), (.keep, "1 anna account_token"),
        (.transferIfInactive, "1 anna account_token"),
    ]) func `the policy decides about a late link as about an early one`(policy: OwnershipPolicy, owner: String)
        async throws
    {
        let worker = try await LinkWorker(OwnershipRules(policy: policy))
        try await worker.settle([
            .purchase("1", "1", at: 1_000, token: Self.anna, until: 9_000),
            .purchase("1", "2", at: 2_000, token: Self.bob, until: 9_000),
        ])
        try await worker.linkTokens()
        try await worker.emptyOutbox()
        #expect(try await worker.owners() == [owner])
    }

    @Test func `emptying the table withdraws every link`() async throws {
        let worker = try await Self.unowned()
        try await worker.link("account_token", Self.anna, "anna")
        try await worker.emptyOutbox()
        _ = try await worker.client.query("TRUNCATE account_links")
        #expect(try await worker.emptyOutbox() == ["1=nobody"])
    }

    @Test func `another policy counts for all purchases once it is applied again`() async throws {
        let worker = try await LinkWorker()
        try await worker.linkTokens()
        try await worker.settle([
            .purchase("1", "1", at: 1_000, token: Self.anna), .purchase("1", "2", at: 2_000, token: Self.bob),
            .purchase("7", token: Self.bob),
        ])
        let next = try await LinkWorker(OwnershipRules(policy: .keep), on: worker.client)
        #expect(try await next.emptyOutbox().isEmpty)
        #expect(try await worker.client.query("SELECT reapply_ownership_rules()")[0].int8(0) == 2)
        #expect(try await next.emptyOutbox() == ["1=anna"])
    }

    @Test func `an unacknowledged observation is sent again`() async throws {
        struct Refusal: Error {}
        let worker = try await Self.unowned()
        try await worker.link("account_token", Self.anna, "anna")
        await #expect(throws: Refusal.self) { try await worker.stage.outboxes[0].empty { _ in throw Refusal() } }
        #expect(try await worker.unsentCount() == 1)
        let next = try await LinkWorker(on: worker.client)
        // The server may not yet have noticed that the first one's connection is gone.
        try await eventually { try await next.emptyOutbox() == ["1=anna"] }
        #expect(try await worker.unsentCount() == 0)
    }

    @Test func `a notification is an occasion at once`() async throws {
        let worker = try await Self.unowned()
        let outbox = worker.stage.outboxes[0]
        // The first occasion is the start.
        try await outbox.waitForWork()
        async let occasion: Void = outbox.waitForWork()
        try await worker.link("account_token", Self.anna, "anna")
        try await occasion
        #expect(try await worker.emptyOutbox() == ["1=anna"])
        await outbox.close()
    }

    @Test func `a link that is written while its purchase is processed is not missed`() async throws {
        let worker = try await LinkWorker()
        let client = worker.client
        // Another worker has read the present links; its transaction is not committed yet.
        let reading = try await client.connect()
        _ = try await reading.query("BEGIN")
        _ = try await reading.run(Locks.sharedLinks)
        try await worker.link("account_token", Self.anna, "anna")
        async let sent = worker.emptyOutbox()
        try await Self.waitForQuery("SELECT wait_for_sharers%", client)
        _ = try await reading.query(
            """
            INSERT INTO ownership_facts (environment, bundle_id, original_transaction_id,
                transaction_id, track, signed_date_ms, content_hash, trust, purchase_date_ms,
                account_token)
            VALUES ('Production', 'com.example.pro', '1', '1', 'jws', 1, sha256('x'), 'apple', 1,
                $1)
            """, [.text(Self.anna)])
        _ = try await reading.query("COMMIT")
        #expect(try await sent == ["1=anna"])
        await reading.close()
    }

    @Test func `the first link of a kind, written while its purchase is processed, is not missed`() async throws {
        let worker = try await LinkWorker()
        let client = worker.client
        let other = try await LinkWorker(on: client)
        // The other worker stops after it has read which kinds of links there are.
        let blocking = try await client.connect()
        _ = try await blocking.query("BEGIN")
        _ = try await blocking.query("LOCK TABLE ownership_facts IN ACCESS EXCLUSIVE MODE")
        async let processed = other.process([.purchase("1", account: "A")])
        try await Self.waitForQuery("SELECT%FROM ownership_facts%", client)
        try await worker.link("app_transaction_id", "A", "anna")
        async let sent = worker.emptyOutbox()
        try await Self.waitForQuery("SELECT wait_for_sharers%", client)
        _ = try await blocking.query("COMMIT")
        #expect(try LinkWorker.owners(try await processed.verdicts.flatMap(\.outputs)) == [nil])
        #expect(try await sent == ["1=anna"])
        await blocking.close()
    }

    private static func waitForQuery(_ pattern: String, _ client: PostgresClient) async throws {
        try await eventually {
            try await client.query(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND state = 'active' AND query LIKE $1
                """, [.text(pattern)])[0].int8(0) == 1
        }
    }

    @Test func `many links at once, by several workers, miss no purchase`() async throws {
        let worker = try await LinkWorker()
        let count = 600
        try await worker.settle((0..<count).map { .purchase("\($0)", account: "A\($0)") })
        _ = try await worker.client.query(
            """
            INSERT INTO account_links (kind, key, user_id)
            SELECT 'app_transaction_id', 'A' || n, 'user' || n
            FROM generate_series(0, \(count - 1)) AS n
            """)
        let client = worker.client
        let sent = try await withThrowingTaskGroup(of: [String?].self) { group in
            for _ in 0..<3 { group.addTask { try await LinkWorker(on: client).emptyOutbox() } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let rest = try await worker.emptyOutbox()
        #expect(Set(sent + rest).count == count)
        #expect(try await worker.owners().allSatisfy { $0.hasSuffix("app_transaction_link") })
        #expect(try await Self.changeCount(worker) == 0)
        #expect(try await worker.unsentCount() == 0)
    }

    @Test func `a link that cannot be stored holds up no other, is reported and retried`() async throws {
        let worker = try await LinkWorker()
        try await worker.settle((0..<300).map { .purchase("\($0)", account: "A\($0)") })
        // As if the table had no such limit.
        _ = try await worker.client.query(
            """
            ALTER TABLE account_links DROP CONSTRAINT IF EXISTS account_links_of_identifiers
            """)
        _ = try await worker.client.query(
            """
            INSERT INTO account_links (kind, key, user_id)
            SELECT 'original_transaction_id', n::text,
                   CASE WHEN n IN (7, 170) THEN (
                       SELECT left(string_agg(md5((n * 1000 + m)::text), ''), 2680)
                       FROM generate_series(1, 100) AS m
                   ) ELSE 'user' || n END
            FROM generate_series(0, 299) AS n
            """)
        #expect(try await worker.emptyOutbox().count == 298)
        let owners = try await worker.owners()
        #expect(owners.count { $0.hasSuffix("original_transaction_link") } == 298)
        let message = "owner rejected by the database, retrying later"
        #expect(worker.log.count(message) == 2)
        let text = String(decoding: worker.registry.exposition(), as: UTF8.self)
        #expect(text.contains("link_refused_purchases_total 2"), "\(text)")
        // Not at once, and then again.
        #expect(try await worker.emptyOutbox().isEmpty)
        #expect(try await Self.changeCount(worker) == 2)
        _ = try await worker.client.query("UPDATE account_link_changes SET due_at = now()")
        #expect(try await worker.emptyOutbox().isEmpty)
        #expect(worker.log.count(message) == 4)
        _ = try await worker.client.query("UPDATE account_links SET user_id = 'mended' WHERE length(user_id) > 255")
        let mended = try await worker.emptyOutbox().compactMap(\.self).sorted()
        #expect(mended == ["170=mended", "7=mended"])
    }

    private static func changeCount(_ worker: LinkWorker) async throws -> Int64 {
        try await worker.client.query("SELECT count(*) FROM account_link_changes")[0].int8(0)
    }
}
