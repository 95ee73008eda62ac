import AppStore
import Entitlements
import Postgres
import Simulation
import TestSupport
import Testing

@testable import Operations

/// `pipeline rebuild` derives facts from signed contents again, and compares them with their rows.
@Suite(.timeLimit(.minutes(10))) struct RebuildFactTests {
    /// A subscription with two periods, a reversed refund, and a receipt with a revocation before a
    /// newer silent one.
    private static func rig() async throws -> RebuildRig {
        let rig = try await RebuildRig()
        try await rig.settle([
            .purchase("1", at: 1_000, signed: 1, token: LinkWorker.anna, until: 9_000),
            .purchase("1", "1-2", at: 9_000, token: LinkWorker.anna, until: 19_000),
            .purchase("2", signed: 1, token: LinkWorker.bob, account: RebuildRig.account), refunded("2", signed: 2),
            .purchase("2", signed: 3, token: LinkWorker.bob, account: RebuildRig.account),
            .purchase("4", signed: 1, token: LinkWorker.bob, account: RebuildRig.account), refunded("4", signed: 2),
            receipt(signed: 2, revoked: 5_000, storefront: "A"), receipt(signed: 4, storefront: "B"),
            receipt(signed: 3, revoked: 6_000, storefront: "C"),
        ])
        return rig
    }

    private static func refunded(_ id: String, signed: Int64) -> Sample {
        Sample.purchase(id, signed: signed, token: LinkWorker.bob, account: RebuildRig.account).with {
            $0.transaction?.revocationDate = 4_000
        }
    }

    private static func receipt(signed: Int64, revoked: Int64? = nil, storefront: String) -> Sample {
        Sample.purchase("3", signed: signed, until: 9_000).with {
            $0.method = .receipt
            $0.transaction?.revocationDate = revoked
            $0.transaction?.storefront = storefront
        }
    }

    @Test func `facts that follow from signed contents are no difference`() async throws {
        let rig = try await Self.rig()
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
        #expect(output.contains("every row follows from the facts, and every fact matches what was signed"))
    }

    @Test(arguments: [
        ("expires_date_ms = 99", "expires_date_ms"),
        ("expires_date_ms = NULL, is_upgraded = true", "expires_date_ms, is_upgraded"),
        ("account_token = '\(LinkWorker.bob)'", "account_token"), ("account_token = NULL", "account_token"),
        ("product_id = 'other', purchase_date_ms = 5", "product_id, purchase_date_ms"),
        ("product_type = NULL", "product_type"), ("quantity = NULL", "quantity"),
        ("ownership_type = 'X', subscription_group_id = 'g'", "ownership_type, subscription"),
        ("web_order_line_item_id = '7'", "web_order_line_item_id"),
        ("transaction_reason = 'RENEWAL'", "transaction_reason"),
        ("additional_transaction_reason = 'seatAddition'", "additional_transaction_reason"),
        ("revoked_seat_quantity = 2", "revoked_seat_quantity"), ("items = '[{\"SKU\":\"a\"}]'", "items"),
        ("revocation_reason = 1", "revocation_reason"),
        ("app_transaction_id = '\(RebuildRig.account)'", "app_transaction_id"),
        ("signed_date_ms = 0", "is behind a newer content in signed_date_ms"),
    ]) func `a changed column is named and repaired`(_ change: String, _ said: String) async throws {
        let rig = try await Self.rig()
        try await rig.expectMended(
            "UPDATE transactions SET \(change) WHERE transaction_id = '1-2'",
            saying: "Production com.example.pro 1 transactions 1-2 (jws): ", said)
    }

    @Test func `a lost refund comes back from the newest receipt with one`() async throws {
        let rig = try await Self.rig()
        for change in [
            """
            revocation_date_ms = NULL, revoked_signed_date_ms = NULL,
                revoked_content_hash = NULL
            """, "revocation_date_ms = 1",
            """
            (revocation_date_ms, revoked_signed_date_ms, revoked_content_hash) = (
                SELECT 5000, signed_date_ms, content_hash FROM revisions
                WHERE track = 'receipt' AND signed_date_ms = 2
            )
            """,
        ] {
            try await rig.expectMended(
                "UPDATE transactions SET \(change) WHERE transaction_id = '3'",
                saying: "3 transactions 3 (receipt): differs", "revocation_date_ms")
        }
    }

    @Test func `a row that names an older content is raised to the newest`() async throws {
        let rig = try await Self.rig()
        try await rig.expectMended(
            """
            UPDATE transactions SET (signed_date_ms, content_hash, revocation_date_ms) = (
                SELECT signed_date_ms, content_hash, NULL::bigint FROM revisions
                WHERE id = '4' AND payload ->> 'revocationDate' IS NULL
            ) WHERE transaction_id = '4'
            """, saying: "4 transactions 4 (jws): is behind a newer content in ", "revocation_date_ms")
    }

    @Test func `a content signed again after another one stays the newest`() async throws {
        let rig = try await RebuildRig()
        try await rig.settle([
            .purchase("2", signed: 1, token: LinkWorker.bob, account: RebuildRig.account),
            Self.refunded("2", signed: 2),
            .purchase("2", signed: 3, token: LinkWorker.bob, account: RebuildRig.account),
        ])
        let (code, output) = await rig.rebuild("--replace")
        #expect(code == 0, "\(output)")
        // The second content is the one that was first signed last.
        try await rig.expectMended(
            "UPDATE transactions SET revocation_date_ms = 4000",
            saying: "differs from what was signed in revocation_date_ms")
    }

    @Test func `the newest content decides alone, also by absent members`() async throws {
        let rig = try await RebuildRig()
        try await rig.settle([
            .purchase("1", signed: 1, until: 9_000),
            Sample.purchase("1", signed: 2, until: 9_000).with {
                $0.transaction?.type = nil
                $0.transaction?.quantity = nil
            },
        ])
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
        try await rig.expectMended(
            "UPDATE transactions SET product_type = 'Consumable', quantity = 1",
            saying: "differs from what was signed in product_type, quantity")
    }

    @Test func `a row under another purchase is moved back`() async throws {
        let rig = try await Self.rig()
        try await rig.expectMended(
            """
            UPDATE transactions SET original_transaction_id = '2' WHERE transaction_id = '1-2'
            """, saying: "transactions 1-2 (jws): differs from what was signed in original_")
    }

    @Test(arguments: [("1-2", "2"), ("2", "1"), ("3", "0")])
    func `purchases that hold each other's rows are locked together`(_ id: String, _ original: String) async throws {
        let rig = try await Self.rig()
        let before = try await rig.picture()
        try await rig.query(
            """
            UPDATE transactions SET original_transaction_id = '\(original)'
            WHERE transaction_id = '\(id)'
            """)
        let lines = try await Self.replaceOneByOne(rig)
        #expect(lines.count == 1, "\(lines)")
        #expect(try await rig.picture() == before)
        #expect(await rig.rebuild().code == 0)
    }

    @Test func `a row returns to a purchase that was compared before it was found`() async throws {
        let rig = try await Self.rig()
        let before = try await rig.picture()
        // Nothing of purchase 1 names it any more.
        try await rig.query("DELETE FROM ownership_facts WHERE transaction_id = '1-2'")
        try await rig.query("UPDATE transactions SET original_transaction_id = '2' WHERE transaction_id = '1-2'")
        _ = try await Self.replaceOneByOne(rig)
        #expect(try await rig.picture() == before)
        #expect(await rig.rebuild().code == 0)
    }

    /// Replaces each purchase in a transaction of its own.
    private static func replaceOneByOne(_ rig: RebuildRig) async throws -> [String] {
        let rebuilding = try await Rebuilding(client: rig.client, isReplacing: true, purchasesMax: 1)
        var lines: [String] = []
        _ = try await rebuilding.run { differences, _ in lines += differences.lines }
        return lines
    }

    @Test func `a missing row is written from its content and link-worker's facts`() async throws {
        let rig = try await Self.rig()
        for id in ["1-2", "2", "3", "4"] {
            try await rig.expectMended(
                "DELETE FROM transactions WHERE transaction_id = '\(id)'", saying: "transactions \(id)", "has no row")
        }
        try await rig.expectMended("DELETE FROM transactions", saying: "transactions 1-2")
    }

    @Test func `link-worker's facts are compared with signed contents`() async throws {
        let rig = try await Self.rig()
        for change in [
            "account_token = '\(LinkWorker.bob)' WHERE transaction_id = '1-2'",
            "expires_date_ms = 7, trust = repeat('0', 64) WHERE transaction_id = '1-2'",
            "revocation_date_ms = 7 WHERE transaction_id = '3'", "signed_date_ms = 0 WHERE transaction_id = '2'",
        ] { try await rig.expectMended("UPDATE ownership_facts SET \(change)", saying: "ownership_facts ") }
        try await rig.expectMended("DELETE FROM ownership_facts", saying: "ownership_facts 1-2")
    }

    @Test func `link-worker's facts of a record in flight are left alone`() async throws {
        let rig = try await Self.rig()
        try await rig.link.settle(.purchase("1", "1-3", at: 19_000, until: 29_000))
        try await rig.link.settle(.purchase("1", "1-2", at: 9_000, signed: 9, until: 20_000))
        try await rig.query("DELETE FROM owner_changes")
        let before = try await rig.picture()
        let (code, output) = await rig.rebuild("--replace")
        #expect(code == 0, "\(output)")
        #expect(try await rig.picture() == before)
    }

    @Test func `a repaired fact in a closed period changes the purchase's entitlements`() async throws {
        let rig = try await RebuildRig()
        try await rig.settle(
            batch: (1...30).map { number in
                .purchase(
                    "1", "1-\(number)", at: Int64(number) * 1_000, token: LinkWorker.anna,
                    until: Int64(number + 1) * 1_000)
            })
        #expect(try await rig.entitle.count("closed_periods") > 0)
        try await rig.query("UPDATE transactions SET expires_date_ms = expires_date_ms - 500")
        try await rig.query("DELETE FROM closed_periods")
        let (code, output) = await rig.rebuild("--replace")
        #expect(code == 1, "\(output)")
        #expect(await rig.rebuild().code == 0)
        let held = try await rig.client.query("SELECT periods::text FROM entitlements")
        #expect(held.count == 1 && !held[0].text(0).contains(".5"))
        #expect(try await rig.entitle.count("closed_periods") > 0)
        // Later records use the present closed periods.
        try await rig.settle([.purchase("1", "1-31", at: 31_000, token: LinkWorker.anna, until: 32_000)])
        #expect(await rig.rebuild().code == 0)
    }

    @Test func `a token that was forgotten stays forgotten`() async throws {
        let rig = try await RebuildRig(OwnershipRules(tokensAreUserIDs: true))
        try await rig.settle([
            .purchase("1", token: LinkWorker.anna, until: 9_000), .purchase("2", token: LinkWorker.bob, until: 9_000),
            .renewal("1") { $0.appAccountToken = LinkWorker.anna },
        ])
        let forget = ["forget", LinkWorker.anna.uppercased(), "--by=dpo", "--reason=asked"]
        #expect(await rig.run(forget).code == 0)
        try await rig.link.emptyOutbox()
        #expect(await rig.rebuild("--replace").code == 1, "their entitlement goes")
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
        try await rig.expectMended("DELETE FROM transactions WHERE transaction_id = '1'", saying: "has no row")
        let tokens = try await rig.client.query(
            "SELECT DISTINCT account_token FROM transactions WHERE account_token IS NOT NULL")
        #expect(tokens.map { $0.text(0) } == [LinkWorker.bob])
    }
}
