import AppStore
import EntitleStage
import Entitlements
import JSON
import Operations
import Postgres
import Records
import Store
import TestSupport
import Testing
import Worker

/// The tools of support staff and operators on rows that `entitle-worker` has written.
@Suite(.timeLimit(.minutes(10))) struct SupportToolTests {
    private static let anna = Ownership(userID: "anna", rule: .siblingPurchase)

    /// A worker whose database the tool can reach too.
    private struct Rig {
        let worker: EntitleWorker
        let url: String

        init() async throws {
            let options = try await PostgresServer.shared.migratedDatabase()
            worker = try await EntitleWorker(on: PostgresClient(options, connectionsMax: 8))
            url = options.connectionString
        }

        func run(_ arguments: String...) async -> (code: Int32, output: String) { await run(arguments) }

        func run(_ arguments: [String]) async -> (code: Int32, output: String) {
            let end = await PipelineTool.run(arguments, on: url)
            return (end.code, end.output + end.notes)
        }
    }

    /// A subscription with a grace and a refund, owned through another purchase.
    private static func rig() async throws -> Rig {
        let rig = try await Rig()
        try await rig.worker.own([Signed.key("1"): anna])
        var renewed = try Signed.transaction("1-2", signed: 2, original: "1", purchased: 1_000, expires: 2_000)
        renewed.notification = try Signed.notification("DID_RENEW", signed: 2).notification
        renewed.source?.position.offset = 42
        _ = try await rig.worker.process([
            try Signed.renewal("1", signed: 3, graceExpires: nil), try Signed.transaction("1", signed: 1), renewed,
        ])
        return rig
    }

    @Test func `a refund request stands beside its purchase, with the answer`() async throws {
        let rig = try await Self.rig()
        _ = try await rig.worker.client.query(
            """
            INSERT INTO refund_requests (uuid, environment, bundle_id, transaction_id, original_transaction_id,
                signed_date_ms, deadline_ms, answer, outcome)
            SELECT 'u', environment, bundle_id, transaction_id, original_transaction_id, 1, 2,
                '{"customerConsented":true,"refundPreference":"DECLINE"}', 'answered'
            FROM transactions WHERE transaction_id = '1-2'
            """)
        for question in [["anna"], ["--transaction", "1"]] {
            let (code, text) = await rig.run(["explain"] + question)
            #expect(code == 0)
            #expect(text.contains("outcome: answered") && text.contains("preference: decline"), "\(text)")
            _ = await rig.run(["explain", "--json"] + question)
        }
        let shown = await rig.run("refunds", "show", "u")
        #expect(shown.code == 0 && shown.output.contains("user_id: anna\n"), "\(shown)")
    }

    @Test func `a question waits for no worker, and lists each transaction of a long subscription`() async throws {
        let rig = try await Self.rig()
        let renewals = try (3...20).map { index in
            try Signed.transaction(
                "1-\(index)", signed: Int64(index), original: "1", purchased: Int64(index) * 1_000,
                expires: Int64(index + 1) * 1_000)
        }
        for renewal in renewals { _ = try await rig.worker.process([renewal]) }
        #expect(try await rig.worker.count("closed_periods") > 0)
        let (code, text) = try await rig.worker.client.transaction { connection in
            _ = try await connection.run(Locks.projection, [Signed.key("1").scope])
            return await rig.run("explain", "--json", "--transaction", "1")
        }
        #expect(code == 0, "\(text)")
        let purchases = try JSONDocument(parsing: Array(text.utf8)).root["purchases"]?.elements.map { $0 }
        let rules = purchases?[0]["transactions"]?.elements.map { $0["rules"]?.count }
        #expect(rules == Array(repeating: 1, count: 20))
    }

    @Test func `purchases of another environment are named and counted`() async throws {
        let rig = try await Rig()
        for id in ["1", "2"] {
            let bought = try Signed.transaction(id, signed: 1).with { $0.environment = .sandbox }
            var key = Signed.key(id)
            key.environment = .sandbox
            try await rig.worker.own([key: Self.anna])
            _ = try await rig.worker.process([bought])
        }
        _ = try await rig.worker.client.query(
            "SELECT grant_entitlement('anna', 'vip', NULL, 'good', 'support', 'Xcode')")
        let (code, text) = await rig.run("explain", "anna")
        #expect(code == 1)
        #expect(text.contains("nothing is recorded of anna in Production: ask for another --environment"))
        let counts = "  - environment: Sandbox\n    purchases: 2\n    grants: 0\n"
        #expect(text.contains("other environments:\n\(counts)  - environment: Xcode\n"), "\(text)")
        let json = await rig.run("explain", "anna", "--json").output
        let others = try JSONDocument(parsing: Array(json.utf8.dropLast())).root["other_environments"]
        #expect(others?.elements.compactMap { $0["purchases"]?.int64 } == [2, 0])
        let (_, sandbox) = await rig.run("explain", "anna", "--environment", "Sandbox")
        #expect(!sandbox.contains("nothing is recorded"))
    }

    /// Characters that make a terminal act: clear it, name its window, turn the text around.
    private static let hostile = "\u{1B}[2J\u{1B}]0;x\u{7}\u{9B}1m\u{202E}\n  granted by boss"

    private static let hostileInJSON = #"pro\u001b[2J\u001b]0;x\u0007\u009b1m\u202e\n  granted by boss"#

    @Test(arguments: [["explain", "anna"], ["explain", "anna", "--json"], ["link", "list"]])
    func `stored texts have no effect on the terminal that shows them`(arguments: [String]) async throws {
        let rig = try await Rig()
        var bought = try Signed.transaction("1", signed: 1, product: Self.hostileInJSON)
        bought.notification = ObservedNotification(
            type: "SUBSCRIBED" + Self.hostile, subtype: nil, uuid: nil, signedDate: Timestamp(milliseconds: 1))
        try await rig.worker.own([Signed.key("1"): Self.anna])
        _ = try await rig.worker.process([bought])
        _ = try await rig.worker.client.query(
            "SELECT grant_entitlement('anna', 'vip', NULL, $1, 'support')", [.text("good" + Self.hostile)])
        // The tool does not rely on the table's checks.
        _ = try await rig.worker.client.query("ALTER TABLE account_links DROP CONSTRAINT account_links_of_identifiers")
        _ = try await rig.worker.client.query(
            """
            INSERT INTO account_links (kind, key, environment, bundle_id, user_id)
            VALUES ('original_transaction_id', '1', '', $1, 'anna')
            """, [.text("app\u{202E}")])
        let (code, text) = await rig.run(arguments)
        #expect(code == 0, "\(text)")
        let kept = text.unicodeScalars.filter { $0 != "\n" }
        #expect(kept.allSatisfy { ![.control, .format].contains($0.properties.generalCategory) })
        // No line of its own only looks like the tool's.
        #expect(!text.contains("\n  granted by boss"), "\(text)")
        #expect(text.contains(arguments.contains("--json") ? #"\u202e"# : #"\u{202e}"#))
    }

    @Test func `each row is explained by its transactions, their rules and records`() async throws {
        let rig = try await Self.rig()
        let (code, text) = await rig.run("explain", "anna")
        #expect(code == 0, "\(text)")
        for part in [
            "bundle id: com.example.app", "owner id: anna", "owner rule: sibling_purchase", "entitlement: pro",
            "is active: no", "transaction id: 1\n", "product type: Auto-Renewable Subscription",
            "- rule: billed_period\n            product id: pro\n"
                + "            periods: from 1970-01-01T00:00:01Z until 1970-01-01T00:00:02Z",
            "record: storekit.raw/0/42", "notification: DID_RENEW", "auto renew status: 1", "version: 1\n",
            "cause: notification\n    cause id: 00000000-0000-4000-8000-000000000001",
        ] { #expect(text.contains(part), "\(part) is not in \(text)") }
        #expect(await rig.run("explain", "nobody").output.contains("nothing is recorded of nobody"))
    }

    @Test func `JSON has null for a user without changes, and for a period without an end`() async throws {
        let rig = try await Self.rig()
        #expect(await rig.run("explain", "nobody", "--json").output.contains(#""version":null"#))
        try await rig.worker.own([Signed.key("9"): Self.anna])
        _ = try await rig.worker.process([
            try Signed.transaction("9", signed: 1, product: "levels", type: .nonConsumable)
        ])
        let json = await rig.run("explain", "anna", "--json").output
        #expect(json.matches(of: /"end":null/).count > 1, "\(json)")
    }

    @Test func `a grace announced without its end is explained`() async throws {
        let rig = try await Self.rig()
        var announced = try Signed.renewal("1", signed: 4, graceExpires: nil, renewed: 2_000)
        announced.notification = try Signed.notification("DID_FAIL_TO_RENEW", signed: 4).notification
        announced.notification?.subtype = "GRACE_PERIOD"
        announced.notification?.uuid = "00000000-0000-4000-8000-000000000002"
        _ = try await rig.worker.process([announced])
        let (_, text) = await rig.run("explain", "anna")
        #expect(text.contains("is grace without end: yes"), "\(text)")
    }

    @Test func `JSON output is one object`() async throws {
        let rig = try await Self.rig()
        _ = await rig.run("grant", "anna", "extra", "--new", "--until=2099-12-31", "--reason=sorry", "--by=support")
        let (code, text) = await rig.run("explain", "anna", "--json")
        #expect(code == 0, "\(text)")
        let root = try JSONDocument(parsing: Array(text.utf8)).root
        let purchase = try #require(root["purchases"]?.elements.first { _ in true })
        let transactions = Array(purchase["transactions"]?.elements.map(\.self) ?? [])
        #expect(transactions.compactMap { $0["transaction_id"]?.string } == ["1", "1-2"])
        let source = transactions.last?["sources"]?.elements.first { _ in true }
        #expect(source?["record"]?.string == "storekit.raw/0/42")
        #expect(source?["notification"]?.string == "DID_RENEW")
        let grant = root["grants"]?.elements.first { _ in true }
        #expect(grant?["granted_by"]?.string == "support")
        #expect(root["changes"]?.elements.map(\.self).count == 2)
    }

    @Test(arguments: ["1", "1-2"]) func `a purchase is explained by any of its transactions`(id: String) async throws {
        let rig = try await Self.rig()
        let (code, text) = await rig.run("explain", "--transaction", id)
        #expect(code == 0, "\(text)")
        for part in [
            "owner id: anna", "user id: anna\n        entitlement: pro", "transaction id: 1-2\n",
            "notification: DID_RENEW", "record: storekit.raw/0/42", "rule: billed_period",
            "changes:\n  - user id: anna", "cause: notification",
        ] { #expect(text.contains(part), "\(part) is not in \(text)") }
        let json = await rig.run("explain", "--transaction", id, "--json").output
        let root = try JSONDocument(parsing: Array(json.utf8)).root
        let held = root["purchases"]?.elements.first { _ in true }?["entitlements"]
        #expect(held?.elements.compactMap { $0["user_id"]?.string } == ["anna"])
        #expect(root["changes"]?.elements.compactMap { $0["user_id"]?.string } == ["anna"])
    }

    @Test func `the owners of a purchase are explained in turn`() async throws {
        let rig = try await Self.rig()
        let spans = [OwnershipSpan(userID: "eva"), OwnershipSpan(userID: "anna", from: Timestamp(milliseconds: 2_500))]
        try await rig.worker.own([Signed.key("1"): Ownership(spans: spans, rule: .accountToken)])
        let (_, text) = await rig.run("explain", "--transaction=1")
        #expect(
            text.contains(
                "owner spans:\n      - user id: eva\n      - user id: anna\n        from: 1970-01-01T00:00:02Z\n"))
        let json = await rig.run("explain", "--transaction=1", "--json").output
        let found = try JSONDocument(parsing: Array(json.utf8.dropLast())).root["purchases"]
        let owners = found?.elements.first { _ in true }?["owner_spans"]
        #expect(owners?.elements.compactMap { $0["user_id"]?.string } == ["eva", "anna"])
        #expect(owners?.elements.compactMap { $0["from"]?.string } == ["1970-01-01T00:00:02.500Z"])
    }

    @Test func `a purchase without an owner is explained, with possible links`() async throws {
        let rig = try await Self.rig()
        _ = try await rig.worker.process([try Signed.transaction("7", signed: 1)])
        let (code, text) = await rig.run("explain", "--transaction", "7")
        #expect(code == 0, "\(text)")
        for part in [
            "owner rule: unlinked", "entitlements: none",
            "advice: it carries no account token: link its original_transaction_id 7\n", "rule: billed_period",
        ] { #expect(text.contains(part), "\(part) is not in \(text)") }
        let unknown = await rig.run("explain", "--transaction", "8")
        #expect(unknown.code == 1)
        #expect(unknown.output.contains("nothing is recorded of 8 in Production"), "\(unknown.output)")
        #expect(await rig.run("explain").code == 64)
        #expect(await rig.run("explain", "anna", "--transaction", "7").code == 64)
    }

    @Test func `the credits of a consumable are explained`() async throws {
        let rig = try await Self.rig()
        try await rig.worker.apply(
            catalog: Array(#"{"products":{"chest":{"type":"consumable","credits":{"coins":100}}}}"#.utf8))
        try await rig.worker.own([Signed.key("9"): Self.anna])
        _ = try await rig.worker.process([try Signed.transaction("9", signed: 1, product: "chest", type: .consumable)])
        _ = try await rig.worker.client.query("SELECT ledger_debit('anna', 'coins', 30, 'sword')")
        _ = try await rig.worker.process([
            try Signed.transaction("9", signed: 2, product: "chest", type: .consumable, revoked: 1_000)
        ])
        let text = await rig.run("explain", "anna").output
        #expect(text.contains("balances:\n  - currency: coins\n    amount: -30\n"), "\(text)")
        #expect(text.contains("- reference: sword\n    currency: coins\n    amount: 30\n"), "\(text)")
        for text in [text, await rig.run("explain", "--transaction", "9").output] {
            for part in ["user id: anna", "amount: 100", "taken back: 100", "revoked at: 1970-01-01T00:00:01Z"] {
                #expect(text.contains("            \(part)\n"), "\(part) is not in \(text)")
            }
        }
    }

    @Test func `a grant is given, explained as a grant, and revoked`() async throws {
        let rig = try await Self.rig()
        let given = await rig.run(
            "grant", "anna", "extra", "--new", "--until", "forever", "--reason", "lost data", "--by", "eva")
        #expect(given.code == 0, "\(given.output)")
        #expect(given.output == "1\n")
        let explained = await rig.run("explain", "anna").output
        #expect(explained.contains("grants:\n  - grant id: 1\n    entitlement: extra\n    is active: yes\n"))
        #expect(explained.contains("granted by: eva\n    reason: lost data\n"))
        #expect(await rig.run("revoke-grant", "1", "--reason", "found", "--by", "eva").code == 0)
        #expect(await rig.run("revoke-grant", "1", "--reason", "found", "--by", "eva").code == 1)
        let revoked = await rig.run("explain", "anna").output
        #expect(revoked.contains("entitlement: extra\n    is active: no\n"))
        #expect(revoked.contains("revoked by: eva\n    revocation reason: found\n"))
        for wrong in [
            ["grant", "anna", "extra", "--reason", "x", "--by", "y"],
            ["grant", "anna", "extra", "--until", "soon", "--reason", "x", "--by", "y"],
            ["grant", "anna", "extra", "--until", "forever", "--by", "y"],
        ] { #expect(await rig.run(wrong).code == 64) }
    }

    @Test func `a key that nothing names is granted only if it is called new`() async throws {
        let rig = try await Self.rig()
        try await rig.worker.apply(
            catalog: Array(#"{"products":{"monthly":{"type":"auto-renewable","entitlements":["premium"]}}}"#.utf8))
        func grant(_ key: String, _ more: String...) async -> (code: Int32, output: String) {
            await rig.run(["grant", "otto", key, "--until=forever", "--reason=x", "--by=y"] + more)
        }
        let refused = await grant("premum")
        #expect(refused.code == 64)
        #expect(refused.output.contains("the nearest known are premium, pro; --new"), "\(refused.output)")
        let held = "SELECT has_entitlement('otto', 'premum')"
        #expect(try await !rig.worker.client.query(held)[0].bool(0))
        for known in ["premium", "pro"] { #expect(await grant(known).code == 0, "\(known)") }
        // A product that grants other keys, and a key that was called new.
        #expect(await grant("monthly").code == 64)
        #expect(await grant("premum", "--new").code == 0)
        #expect(await grant("premum").code == 0)
        #expect(try await rig.worker.client.query(held)[0].bool(0))
    }

    @Test func `a name that nothing knows ends each command with 1, and is called unknown`() async throws {
        let rig = try await Self.rig()
        let act = ["--by=eva", "--reason=asked"]
        _ = try await rig.worker.client.query(
            """
            INSERT INTO recovery_windows (environment, bundle_id, job)
            VALUES ('Production', 'com.example.app', 'complete')
            """)
        let rows: [(arguments: [String], text: String)] = [
            (["explain", "nobody"], "nothing is recorded of nobody in Production"),
            (["explain", "--transaction=nope"], "nothing is recorded of nope in Production"),
            (["whats-stored", "nobody"], "nothing is stored about nobody in the tables"),
            (["forget", "nobody"] + act, "nothing was known of nobody"),
            (["link", "list", "--user=nobody"], "no link found"), (["link", "list", "--key=nope"], "no link found"),
            (["link", "list", "--history", "--key=nope"], "no link found"),
            (["link", "remove", "original_transaction_id", "nope"] + act, "1 link read, 0 removed"),
            (["revoke-grant", "4711"] + act, "there is no grant 4711"),
            (["refunds", "list", "--user=nobody"], "no refund request found"),
            (["refunds", "show", "nope"], "no refund request found"),
            (["refunds", "count"], "no refund request found"),
            (["refunds", "answer", "nope", "--preference=none"] + act, "there is no refund request nope"),
            (["recover", "apple", "--user=nobody"], "nothing to ask Apple about"),
            (["dedupe", "forget", "--bundle-id=nope", "--yes"], "0 revisions and 0 notifications forgotten"),
        ]
        for (arguments, text) in rows {
            let end = await rig.run(arguments)
            #expect(end.code == 1 && end.output.contains(text), "\(arguments): \(end.code) \(end.output)")
        }
    }

    @Test func `the knowledge at an instant is shown alone`() async throws {
        let rig = try await Self.rig()
        let before = await rig.run("explain", "anna", "--known-at=2020-01-01")
        #expect(before.output.contains("nothing is recorded of anna"))
        let now = await rig.run("explain", "anna", "--known-at=2099-01-01", "--at=1970-01-01T00:00:01Z")
        #expect(now.output.contains("at: 1970-01-01T00:00:01Z\n"), "\(now.output)")
        #expect(now.output.contains("entitlement: pro\n    is active: yes\n"), "\(now.output)")
    }

    @Test func `a plan of facts finds no difference, and a rebuild repairs one`() async throws {
        let rig = try await Self.rig()
        let clean = await rig.run("plan", "--facts")
        #expect(clean.code == 0, "\(clean.output)")
        #expect(clean.output.contains(": every row follows from the facts"))
        let client = rig.worker.client
        _ = try await client.query("UPDATE entitlements SET user_id = 'mallory'")
        let found = await rig.run("plan", "--facts")
        #expect(found.code == 1)
        #expect(found.output.contains("mallory entitlement pro: is "))
        #expect(found.output.contains("2 differences; 'pipeline rebuild --replace' writes"), "\(found.output)")
        #expect(try await client.query("SELECT user_id FROM entitlements")[0].text(0) == "mallory")
        #expect(await rig.run("rebuild", "--replace").code == 1)
        #expect(await rig.run("plan", "--facts").code == 0)
        #expect(try await client.query("SELECT user_id FROM entitlements")[0].text(0) == "anna")
        let causes = try await client.query("SELECT user_id FROM changes WHERE cause = 'rebuild' ORDER BY user_id")
        #expect(causes.map { $0.text(0) } == ["anna", "mallory"])
    }
}
