import AppStore
import JSON
import Postgres
import TestSupport
import Testing

@testable import Store

/// The answers about users and purchases that the database gives as JSON.
@Suite(.timeLimit(.minutes(10))) struct SupportAnswerTests {
    private let connection: PostgresConnection

    init() async throws { connection = try await PostgresConnection.connect(PostgresServer.shared.migratedDatabase()) }

    private func explain(_ user: Identifier, rowsMax: Int = 1_000) async throws -> JSONValue {
        try await connection.run(SupportAnswers.user, (user, "Production", nil, nil, rowsMax))[0].root
    }

    private func stored(_ user: Identifier, rowsMax: Int = 100) async throws -> JSONValue {
        try await connection.run(SupportAnswers.stored, (user, rowsMax))[0].root
    }

    /// Purchases of anna with one transaction each, and a second one of the first purchase.
    private func insertPurchases(_ count: Int) async throws {
        try await connection.execute(
            script: """
                INSERT INTO entitlements (environment, bundle_id, original_transaction_id,
                    entitlement_key, user_id, periods)
                SELECT 'Production', 'app', id::text, 'pro', 'anna',
                    tstzmultirange(tstzrange('2026-01-01', '2026-02-01'::timestamptz + id * interval '1 day'))
                FROM generate_series(1, \(count)) AS id;
                INSERT INTO transactions (environment, bundle_id, transaction_id, track, signed_date_ms,
                    content_hash, trust, original_transaction_id, product_id, purchase_date_ms, items)
                SELECT 'Production', 'app', id::text, track, 1, sha256(''), 'apple', greatest(id, 1)::text, 'pro', id,
                    CASE WHEN id = 1 THEN '[{"SKU":"a","revocationDate":1000,"price":9,
                        "refunds":[{"refundAmount":2,"refundDate":2001}]}]'::json END
                FROM generate_series(0, \(count)) AS id, unnest('{jws,receipt}'::text[]) AS track;
                INSERT INTO ledger (environment, bundle_id, transaction_id, currency,
                    original_transaction_id, product_id, user_id, amount, purchase_date_ms)
                VALUES ('Production', 'app', '1', 'coins', '1', 'chest', 'anna', 100, 1);
                INSERT INTO revisions (kind, environment, bundle_id, id, trust, track, content_hash,
                    signed_date_ms, payload, source_topic, source_partition, source_offset, source_index)
                SELECT 'transaction', 'Production', 'app', '1', '', 'jws', sha256(number::text::bytea), number, '{}',
                    'raw', 0, number, 0
                FROM generate_series(1, 12) AS number;
                """)
    }

    @Test func `the newest rows of each list are shown, and the others counted`() async throws {
        try await insertPurchases(3)
        for key in ["a", "b"] {
            _ = try await connection.query("SELECT grant_entitlement('anna', $1, NULL, 'why', 'eva')", [.text(key)])
            _ = try await connection.query("SELECT ledger_debit('anna', 'coins', 1, $1)", [.text(key)])
        }
        let whole = try await explain("anna")
        #expect(whole["left_out"]?["sources"]?.int64 == 2)
        #expect(whole["left_out"]?.count == 1)
        let ids = whole["purchases"]?.elements.map { $0["original_transaction_id"]?.string }
        #expect(ids == ["3", "2", "1"])
        let cut = try await explain("anna", rowsMax: 1)
        for (list, leftOut) in [("purchases", 2), ("transactions", 1), ("grants", 1), ("debits", 1), ("changes", 1)] {
            #expect(cut["left_out"]?[list]?.int64 == Int64(leftOut), "\(list)")
            if list != "transactions" { #expect(cut[list]?.count == 1, "\(list)") }
        }
        #expect(cut["grants"]?.elements.map { $0["entitlement"]?.string } == ["b"])
        let stored = try await stored("anna", rowsMax: 2)
        #expect(stored["left_out"]?["identifiers"]?.int64 == 1)
        #expect(stored["identifiers"]?.elements.map { $0["key"]?.string } == ["1", "2"])
        let none = try await connection.query("SELECT explain_user('anna', rows_max => -1) ->> 'left_out'")
        #expect(none[0].text(0).contains(#""purchases":3"#))
    }

    @Test func `a transaction shows its items, its credits once, and its newest sources in their order`() async throws {
        try await insertPurchases(1)
        let purchase = try await explain("anna")["purchases"]?.elements.first { _ in true }
        let transactions = purchase?["transactions"]?.elements.map(\.self) ?? []
        #expect(transactions.map { $0["track"]?.string } == ["jws", "receipt", "jws", "receipt"])
        #expect(transactions.map { $0["credits"]?.count } == [0, 0, 1, 0])
        let item = transactions.last?["items"]?.elements.first { _ in true }
        #expect(item?["revocation_date"]?.string == "1970-01-01T00:00:01.000Z")
        #expect(item?["refund_date"]?.string == "1970-01-01T00:00:02.001Z")
        #expect(item?["refund_amount"]?.int64 == 2 && item?["price"]?.int64 == 9)
        let records = transactions[2]["sources"]?.elements.map { $0["record"]?.string }
        #expect(records == (3...12).map { "raw/0/\($0)" })
    }

    @Test func `a purchase without an owner names what can be linked`() async throws {
        try await insertPurchases(1)
        func advice() async throws -> String? {
            let rows = try await connection.run(SupportAnswers.transaction, ("0", "Production", nil, 1_000))
            return rows[0].root["purchases"]?.elements.first { _ in true }?["advice"]?.string
        }
        #expect(try await advice() == "it carries no account token: link its original_transaction_id 1")
        try await connection.execute(
            script: """
                UPDATE transactions SET account_token = 'token';
                INSERT INTO owners (environment, bundle_id, original_transaction_id, rule, app_transaction_id)
                VALUES ('Production', 'app', '1', 'unlinked', '70');
                """)
        #expect(
            try await advice() == "nobody is linked to its account token: link that, or its original_transaction_id 1"
                + ", or its app_transaction_id 70")
        try await connection.execute(script: "UPDATE owners SET user_id = 'anna', rule = 'link'")
        #expect(try await advice() == nil)
    }

    private static let names: [Identifier] = [
        "é", "e\u{301}", "E\u{301}", "anna", "Anna", "a'; DROP TABLE grants; --", #"a\"b"#, "%", "_", "👩‍👩‍👧",
        Identifier(String(repeating: "ü", count: 127) + "x"), Identifier(String(repeating: "ü", count: 127) + "y"),
    ]

    /// Names that are equal as characters, by another collation or up to a length are those of different users.
    @Test func `a user is found by the bytes of the name`() async throws {
        for (number, name) in Self.names.enumerated() {
            _ = try await connection.query(
                "SELECT grant_entitlement($1, $2, NULL, 'why', 'eva')", [.text(name.text), .text("key \(number)")])
        }
        for (number, name) in Self.names.enumerated() {
            let answer = try await explain(name)
            #expect(answer["user_id"]?.identifier == name)
            #expect(answer["grants"]?.elements.map { $0["entitlement"]?.string } == ["key \(number)"], "\(name)")
            let tables = try await stored(name)["tables"]?.elements.map(\.self)
            let grants = tables?.first { $0["table"]?.string == "grants" }
            #expect(grants?["rows"]?.int64 == 1, "\(name)")
        }
    }

    @Test func `a name with a NUL is refused, and one that nobody has is nobody's`() async throws {
        await #expect(throws: (any Error).self) { try await explain("anna\u{0}") }
        for name: Identifier in ["", "ann", "anna ", Identifier(String(repeating: "a", count: 100_000))] {
            let answer = try await explain(name)
            #expect(["purchases", "grants", "debits", "changes"].allSatisfy { answer[$0]?.count == 0 })
            #expect(try await stored(name)["tables"]?.count == 0)
        }
    }
}
