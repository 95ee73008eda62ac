import Postgres
import Store
import TestSupport
import Testing

@testable import AuditConsole

/// Apple's refund requests, as auditors see them.
@Suite(.timeLimit(.minutes(10))) struct RefundsPageTests {
    @Test func `each request is listed, filtered and counted`() async throws {
        let fixture = try await ConsoleFixture()
        try await RefundSample.fill(fixture.database)
        let client = try await fixture.client(as: "vera")
        let page = try await client.get("/refunds").body
        #expect(page.matches(of: /href="\/refunds\/refund-/).count == 8)
        // Two of each four are answered, and one of them has a decision.
        #expect(page.contains("<b>8</b>") && page.contains("<b>4</b>"))
        #expect(page.contains("7.92") && page.contains("1.98"))
        for (query, count) in [
            ("outcome=answered", 4), ("outcome=late", 2), ("preference=decline", 2),
            ("product=coins&outcome=no_consent", 2), ("environment=Sandbox", 0), ("product=other", 0),
        ] {
            let list = try await client.get("/refunds?\(query)").body
            #expect(list.matches(of: /href="\/refunds\/refund-/).count == count, "\(query)")
        }
    }

    @Test func `a request shows evidence, answer and decision, and no user`() async throws {
        let fixture = try await ConsoleFixture()
        try await RefundSample.fill(fixture.database)
        let client = try await fixture.client(as: "vera")
        let page = try await client.get("/refunds/refund-1").body
        for text in [
            "Apple has refunded the purchase.", "delivered, 30 % consumed, a decline is preferred",
            "UNSATISFIED_WITH_PURCHASE", "0.99 EUR", "Refunds in year",
        ] { #expect(page.contains(text), "\(text)") }
        let pages = try await page + client.get("/refunds").body
        #expect(!pages.contains("anna"))
        #expect(try await client.get("/refunds/nothing").status == 404)
    }

    @Test func `pages follow each other without a gap, also where requests came at once`() async throws {
        let fixture = try await ConsoleFixture()
        try await RefundSample.fill(fixture.database, count: 250)
        let client = try await fixture.client(as: "vera")
        var path = "/refunds"
        var seen: [Substring] = []
        for _ in 1...3 {
            let page = try await client.get(path).body
            seen += page.matches(of: /href="\/refunds\/(refund-\d+)"/).map(\.1)
            guard let next = page.firstMatch(of: /href="(\/refunds\?after=[^"]+)"/) else { break }
            path = String(next.1)
        }
        #expect(seen.count == 250 && Set(seen).count == 250)
    }
}

/// Refund requests of user `anna`: of each four one is answered and refunded, one answered, one late, one without
/// consent.
enum RefundSample {
    static func fill(_ database: PostgresClient, count: Int64 = 8) async throws {
        _ = try await database.query(
            """
            WITH asked AS (SELECT n, n::text AS id FROM generate_series(1, $1::int8) AS n),
            owned AS (
                INSERT INTO owners (environment, bundle_id, original_transaction_id, user_id, rule)
                SELECT 'Production', 'app', id, 'anna', 'link' FROM asked
            ),
            bought AS (
                INSERT INTO transactions (environment, bundle_id, transaction_id, track, signed_date_ms, content_hash,
                    trust, original_transaction_id, product_id, product_type, purchase_date_ms)
                SELECT 'Production', 'app', id, 'jws', 1, sha256(id::bytea), 'apple', id, 'coins', 'Consumable', 1000
                FROM asked
            ),
            signed AS (
                INSERT INTO revisions (kind, environment, bundle_id, id, trust, track, content_hash, signed_date_ms,
                    payload, source_topic, source_partition, source_offset, source_index)
                SELECT 'transaction', 'Production', 'app', id, '', 'jws', sha256(id::bytea), 1,
                    '{"price":990,"currency":"EUR","quantity":1}', 'raw', 0, 0, 0 FROM asked
            ),
            noticed AS (
                INSERT INTO notifications (environment, uuid, bundle_id, type, meaning, signed_date_ms,
                    original_transaction_id, transaction_id, source_topic, source_partition, source_offset,
                    consumption_request_reason)
                SELECT 'Production', kind || '-' || id, 'app', type, 'm', extract(epoch FROM now()) * 1000 - 1000, id, id,
                    'raw', 0, 0, reason
                FROM asked CROSS JOIN (VALUES
                    ('refund', 'CONSUMPTION_REQUEST', 'UNSATISFIED_WITH_PURCHASE'), ('decided', 'REFUND', NULL)
                ) AS came (kind, type, reason)
                WHERE kind = 'refund' OR n % 4 = 1
            )
            INSERT INTO refund_requests (uuid, environment, bundle_id, transaction_id, original_transaction_id,
                signed_date_ms, deadline_ms, answer, evidence, outcome, ended_at)
            SELECT 'refund-' || id, 'Production', 'app', id, id, extract(epoch FROM now()) * 1000 - 2000,
                extract(epoch FROM now()) * 1000 + 43200000,
                CASE n % 4
                    WHEN 1 THEN '{"customerConsented":true,"consumptionPercentage":30000,"deliveryStatus":"DELIVERED",'
                        '"refundPreference":"DECLINE","sampleContentProvided":false}'
                    WHEN 2 THEN '{"accountTenure":0,"appAccountToken":"","consumptionStatus":2,"customerConsented":true,'
                        '"deliveryStatus":0,"lifetimeDollarsPurchased":0,"lifetimeDollarsRefunded":0,"platform":0,'
                        '"playTime":0,"sampleContentProvided":false,"userStatus":0}'
                END::json,
                CASE WHEN n % 4 IN (1, 2) THEN '{"as_of":"2026-11-28T12:00:01Z","product_type":"Consumable",'
                    '"is_delivered":true,"consumed":30000,"refunds_in_year":0,"was_tried":false,'
                    '"is_advanced_commerce":false,"catalog_version":3,"preferred_by":"rules"}' END::json,
                CASE n % 4 WHEN 0 THEN 'no_consent' WHEN 3 THEN 'late' ELSE 'answered' END, now()
            FROM asked
            """, [.int8(count)])
    }
}
