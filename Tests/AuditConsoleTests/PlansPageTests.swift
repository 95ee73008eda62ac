import Foundation
import JSON
import Postgres
import Store
import TestSupport
import Testing

@testable import AuditConsole

/// Stored plans, as auditors see them.
@Suite(.timeLimit(.minutes(10))) struct PlansPageTests {
    @Test func `plans are listed a page at a time, the newest first`() async throws {
        let fixture = try await ConsoleFixture()
        let client = try await fixture.client(as: "vera")
        #expect(try await client.get("/plans").body.contains("Nothing was planned yet."))
        try await PlanSample.add("[]", count: 120, to: fixture.database)
        var path = "/plans"
        var seen: [Int] = []
        for _ in 1...9 {
            let page = try await client.get(path).body
            seen += page.matches(of: /href="\/plans\/(\d+)"/).compactMap { Int($0.1) }
            guard let next = page.firstMatch(of: /href="(\/plans\?before=\d+)"/) else { break }
            path = String(next.1)
        }
        #expect(seen == Array((1...120).reversed()))
        #expect(try await client.get("/plans?before=1").body.contains("There are no older plans."))
    }

    @Test func `a plan shows its head, and its answer as tables, without users`() async throws {
        let fixture = try await ConsoleFixture()
        try await PlanSample.fill(fixture.database)
        let client = try await fixture.client(as: "vera")
        let list = try await client.get("/plans").body
        #expect(list.contains("a rename") && list.contains("<bdi>eva</bdi>"))
        let page = try await client.get("/plans/3").body
        for text in [
            "Not applied.", "a rename", "products 5", "version 1", "Users below zero",
            "Keys that no product grants any more", "com.example.old", "billed_period", "com.example.pro.monthly",
        ] { #expect(page.contains(text), "\(text)") }
        let hash = try await fixture.database.query(
            "SELECT encode(sha256(convert_to(concat(catalog, input, result), 'UTF8')), 'hex') FROM plans WHERE plan = 3"
        )
        #expect(page.contains(hash[0].text(0)))
        #expect(page.matches(of: /<table>/).count == 6 && !page.contains("The stored result lacks"))
        #expect(!page.contains("anna") && !list.contains("anna"))
    }

    @Test func `a plan that is applied shows how far it is, and then the command that compares`() async throws {
        let fixture = try await ConsoleFixture()
        try await PlanSample.fill(fixture.database)
        let client = try await fixture.client(as: "vera")
        let applied = try await client.get("/plans/2").body
        #expect(applied.contains("version 2 is being projected, 1 of 3 transactions done."))
        #expect(applied.contains(#"<progress max="3" value="1""#) && !applied.contains("pipeline plan show 2<"))
        let projected = try await client.get("/plans/1").body
        #expect(projected.contains(", and projected; version 2 holds now.") && !projected.contains("<progress"))
        #expect(projected.contains("<code>pipeline plan show 1</code>"))
    }

    @Test(arguments: ["4", "0", "-1", "9223372036854775808", "one", "%3Cb%3E"]) func `a number of no plan is not found`(
        number: String
    ) async throws {
        let fixture = try await ConsoleFixture()
        try await PlanSample.fill(fixture.database)
        let answer = try await fixture.client(as: "vera").get("/plans/\(number)")
        #expect(answer.status == 404 && answer.body.contains("There is no plan of this number."))
    }

    @Test(arguments: [
        (
            #"{"keys":[{"entitlement_key":"<img src=x onerror=alert(1)>","at":"<b>","lost":1}]}"#,
            "&lt;img src=x onerror"
        ), (#"{"keys":[{"entitlement_key":"a\u202eb\u0000","lost":99999999999999999999}]}"#, "99999999999999999999"),
        (#"{"rows":"<b>","losing_users":1e999,"keys":{},"users":[7,[[]],{"lost":[[2]]}]}"#, "[[2]]"),
        (#"{"vanishing_keys":["</main>",null,{}],"unsold_products":7,"balances":[{}]}"#, "&lt;/main&gt;"),
        (#"{"format":2,"keys":[{"tenant":"a","entitlement_key":"pro"}]}"#, "lacks users, users_by_product"),
        ("null", "lacks users, keys"),
        (String(repeating: "[", count: 2_000) + String(repeating: "]", count: 2_000), "lacks users, keys"),
    ]) func `a damaged result, or that of a later version, is shown as far as it goes`(result: String, shown: String)
        async throws
    {
        let fixture = try await ConsoleFixture()
        try await PlanSample.add(result, input: result, to: fixture.database)
        let client = try await fixture.client(as: "vera")
        let list = try await client.get("/plans")
        #expect(list.status == 200 && list.body.contains(#"href="/plans/1""#), "\(list.status)")
        let page = try await client.get("/plans/1")
        #expect(page.status == 200 && page.body.contains(shown), "\(page.status) \(page.body.suffix(3_000))")
        #expect(!page.body.contains("No user would lose or gain a key"))
        #expect(!page.body.contains(/<img|<b>\w*<\/bdi>|<\/main>.*<\/main>/))
    }

    @Test func `an answer without an effect says so`() async throws {
        let fixture = try await ConsoleFixture()
        try await PlanSample.add(#"{"keys":[],"losing_users":0}"#, to: fixture.database)
        let page = try await fixture.client(as: "vera").get("/plans/1").body
        #expect(page.contains("No user would lose or gain a key") && page.contains("<b>0</b>"))
    }

    @Test func `a long answer is cut, and the command that has all of it is named`() async throws {
        let fixture = try await ConsoleFixture()
        let keys = (1...300).map { #"{"entitlement_key":"key-\#($0)","lost":1}"# }.joined(separator: ",")
        try await PlanSample.add(#"{"keys":[\#(keys)]}"#, to: fixture.database)
        let page = try await fixture.client(as: "vera").get("/plans/1").body
        #expect(page.contains("key-200<") && !page.contains("key-201<"))
        #expect(page.contains("pipeline plan show 1 --json"))
    }

    @Test func `the console's role reads plans, and one without the right is told so`() async throws {
        let fixture = try await ConsoleFixture(role: ServeCommand.role)
        try await PlanSample.fill(fixture.database)
        let client = try await fixture.client(as: "vera")
        for path in ["/plans", "/plans/1", "/plans/2", "/plans/3"] {
            #expect(try await client.get(path).status == 200, "\(path)")
        }
        let other = try await ConsoleFixture(role: .deadLetterIndex)
        for path in ["/plans", "/plans/1"] {
            let answer = try await other.client(as: "vera").get(path)
            #expect(answer.status == 403 && answer.body.contains("see &#39;pipeline grants&#39;"), "\(path)")
        }
    }
}

/// Stored plans: the first applied and projected, the second being projected, the third not applied.
enum PlanSample {
    /// The example of the schema, with a sample of user `anna`, as no stored result has.
    private static func result() throws -> String {
        let file = ReferenceScript.root.appending(path: "schemas/tools/pipeline.plan.schema.json")
        let schema = try JSONDocument(parsing: Array(Data(contentsOf: file))).root
        let example = try #require(schema["examples"]?.elements.first { _ in true })
        return String(decoding: example.rawBytes, as: UTF8.self)
    }

    /// A result with names of the greatest length, and markup.
    static let hostile: String = {
        let key = String(repeating: "<b>key</b>", count: 25)
        let users = #""at":"2026-11-29T02:31:06.000Z","lost":9000000000000000000,"gained":0,"earlier":0,"later":0"#
        return """
            {"rows":9000000000000000000,"purchases":9000000000000000000,"transactions":9000000000000000000,
            "keys":[{"environment":"Production","entitlement_key":"\(key)",\(users)}],
            "users_by_product":[{"product_id":"\(String(repeating: "p", count: 255))",\(users)}],
            "vanishing_keys":["\(key)","\(String(repeating: "k", count: 255))"]}
            """
    }()

    static func add(
        _ result: String, input: String = #"{"catalog":{"products":5}}"#, count: Int64 = 1, to database: PostgresClient
    ) async throws {
        _ = try await database.query(
            """
            INSERT INTO plans (planned_at, requested_by, reason, catalog_version, catalog, input, result)
            SELECT now() - interval '1 minute', 'eva', 'a rename', 1, '{}', $1::json, $2::json
            FROM generate_series(1, $3::int8)
            """, [.text(input), .text(result), .int8(count)])
    }

    static func fill(_ database: PostgresClient) async throws {
        try await add(result(), count: 3, to: database)
        _ = try await database.query(
            """
            WITH applied AS (
                INSERT INTO catalog_versions (content, content_sha256, plan, requested_by)
                SELECT '{}', sha256('{}'), plan, 'otto' FROM generate_series(1, 2) AS plan
            ), bought AS (
                INSERT INTO transactions (environment, bundle_id, transaction_id, track, signed_date_ms, content_hash,
                    trust, original_transaction_id, product_id, product_type, purchase_date_ms)
                SELECT 'Production', 'app', id, 'jws', 1, sha256(id::bytea), 'apple', id, 'coins', 'Consumable', 1000
                FROM unnest(ARRAY['p1', 'p2', 'p3']) AS id
            )
            UPDATE catalog_projection SET version = 1, target = 2, after_original_transaction_id = 'p1',
                after_environment = 'Production'
            """)
    }
}
