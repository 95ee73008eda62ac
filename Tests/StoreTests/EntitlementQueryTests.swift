import Postgres
import TestSupport
import Testing

@Suite struct EntitlementQueryTests {
    private let connection: PostgresConnection

    init() async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        connection = try await PostgresConnection.connect(options)
    }

    private func grant(_ periods: [PostgresPeriod], to user: String = "anna", environment: String = "Production")
        async throws
    {
        _ = try await connection.query(
            """
            INSERT INTO entitlements (
                environment, bundle_id, original_transaction_id, entitlement_key, user_id, periods)
            VALUES ($1, 'com.example', '1000', 'premium', $2, $3)
            """, [.text(environment), .text(user), .periods(periods)])
    }

    private func has(
        _ user: String = "anna", _ key: String = "premium", at time: Int64, environment: String = "Production"
    ) async throws -> Bool {
        try await connection.query(
            "SELECT has_entitlement($1, $2, $3, $4)",
            [.text(user), .text(key), .timestamptz(milliseconds: time), .text(environment)])[0].bool(0)
    }

    @Test(arguments: [
        (999, false), (1000, true), (1999, true), (2000, false), (2500, false), (3000, true), (4_000_000_000_000, true),
    ]) func `a period holds from its start to before its end`(time: Int64, holds: Bool) async throws {
        try await grant([
            PostgresPeriod(startMilliseconds: 1000, endMilliseconds: 2000),
            PostgresPeriod(startMilliseconds: 3000, endMilliseconds: nil),
        ])
        #expect(try await has(at: time) == holds)
    }

    @Test func `another user, key or environment holds nothing`() async throws {
        try await grant([PostgresPeriod(startMilliseconds: 0, endMilliseconds: nil)])
        try await grant([PostgresPeriod(startMilliseconds: 0, endMilliseconds: nil)], to: "bob", environment: "Sandbox")
        #expect(try await has(at: 1))
        #expect(try await !has("bob", at: 1))
        #expect(try await has("bob", at: 1, environment: "Sandbox"))
        #expect(try await !has("anna", "basic", at: 1))
        #expect(try await !has(at: 1, environment: "Sandbox"))
    }

    @Test func `without more arguments the question is about now and Production`() async throws {
        try await grant([PostgresPeriod(startMilliseconds: 0, endMilliseconds: nil)])
        try await grant([PostgresPeriod(startMilliseconds: 0, endMilliseconds: nil)], to: "bob", environment: "Sandbox")
        try await grant([PostgresPeriod(startMilliseconds: 0, endMilliseconds: 1_000_000_000_000)], to: "carl")
        for (user, holds) in [("anna", true), ("bob", false), ("carl", false)] {
            let rows = try await connection.query("SELECT has_entitlement($1, 'premium')", [.text(user)])
            #expect(rows[0].bool(0) == holds, "\(user)")
        }
    }

    @Test func `the view of active entitlements is of now and Production`() async throws {
        let past = PostgresPeriod(startMilliseconds: 1000, endMilliseconds: 2000)
        let open = PostgresPeriod(startMilliseconds: 3000, endMilliseconds: nil)
        try await grant([past, open])
        try await grant([past], to: "bob")
        try await grant([open], to: "carl", environment: "Sandbox")
        let active = try await connection.query("SELECT user_id, active_since, active_until FROM active_entitlements")
        #expect(active.map { $0.text(0) } == ["anna"])
        #expect(active[0].timestamp(1) == 3000)
        #expect(active[0].optionalTimestamp(2) == nil)
        let sandbox = try await connection.query("SELECT user_id FROM active_entitlements_in('Sandbox')")
        #expect(sandbox.map { $0.text(0) } == ["carl"])
    }

    @Test func `a list shows what is active and until when, and what has ended or is to begin`() async throws {
        let (past, later) = (Int64(2000), Int64(8_000_000_000_000))
        try await grant([
            PostgresPeriod(startMilliseconds: 1000, endMilliseconds: past),
            PostgresPeriod(startMilliseconds: 3000, endMilliseconds: later),
            PostgresPeriod(startMilliseconds: later + 1, endMilliseconds: nil),
        ])
        try await grant([PostgresPeriod(startMilliseconds: 1000, endMilliseconds: past)], to: "bob")
        try await grant([PostgresPeriod(startMilliseconds: later, endMilliseconds: nil)], to: "carl")
        try await grant([PostgresPeriod(startMilliseconds: 1000, endMilliseconds: nil)], to: "dora")
        for relation in ["held_entitlements(person)", "entitlement_details WHERE user_id = person"] {
            let rows = try await connection.query(
                """
                SELECT is_active, active_until FROM unnest(ARRAY['anna', 'bob', 'carl', 'dora']) AS person
                CROSS JOIN LATERAL (SELECT is_active, active_until FROM \(relation)) AS held ORDER BY person
                """)
            #expect(rows.map { $0.bool(0) } == [true, false, false, true], "\(relation)")
            #expect(rows.map { $0.optionalTimestamp(1) } == [later, nil, nil, nil], "\(relation)")
        }
    }

    @Test func `functions and views show ownership type, seats and reason`() async throws {
        try await grant([PostgresPeriod(startMilliseconds: 3000, endMilliseconds: nil)])
        try await connection.execute(
            script: """
                UPDATE entitlements SET ownership_type = 'PURCHASED', seats = 12,
                    additional_transaction_reason = 'SEAT_ADDITION';
                SELECT grant_entitlement('anna', 'premium', NULL, 'sorry', 'support');
                """)
        for relation in ["active_entitlements", "held_entitlements('anna')"] {
            let rows = try await connection.query(
                """
                SELECT ownership_type, seats, additional_transaction_reason FROM \(relation)
                ORDER BY grant_id NULLS FIRST
                """)
            #expect(rows.map { $0.optionalText(0) } == ["PURCHASED", nil], "\(relation)")
            #expect(rows.map { $0.optionalInt8(1) } == [12, nil], "\(relation)")
            #expect(rows.map { $0.optionalText(2) } == ["SEAT_ADDITION", nil], "\(relation)")
        }
        try await connection.execute(
            script: """
                UPDATE entitlements SET will_renew = false, renews_to = 'basic', is_in_billing_retry = true,
                    price_increase = 'pending', expiration_reason = 'cancelled', grace = '[2026-01-01, 2026-01-02)';
                """)
        let status = try await connection.query(
            """
            SELECT concat_ws(' ', will_renew, renews_to, is_in_billing_retry, price_increase, expiration_reason,
                upper(grace)::date)
            FROM held_entitlements('anna') ORDER BY grant_id NULLS FIRST
            """)
        #expect(status.map { $0.text(0) } == ["f basic t pending cancelled 2026-01-02", ""])
        let details = try await connection.query("SELECT ownership_type, seats FROM entitlement_details")
        #expect(details[0].text(0) == "PURCHASED")
        #expect(details[0].int8(1) == 12)
    }

    @Test func `an empty set of periods makes no row`() async throws {
        let error = await #expect(throws: PostgresError.self) { try await grant([]) }
        #expect(error?.isRecordFault == true)
    }

    @Test func `milliseconds are shown to the millisecond, also before 1970`() async throws {
        let rows = try await connection.query(
            """
            SELECT timestamptz_from_ms($1), timestamptz_from_ms($2), timestamptz_from_ms($3)
            """, [.int8(1_700_000_000_123), .int8(-1), .int8(253_402_300_799_999)])
        #expect(rows[0].timestamp(0) == 1_700_000_000_123)
        #expect(rows[0].timestamp(1) == -1)
        #expect(rows[0].timestamp(2) == 253_402_300_799_999)
    }

    @Test func `support sees Apple's facts beside an entitlement`() async throws {
        try await grant([PostgresPeriod(startMilliseconds: 0, endMilliseconds: nil)])
        try await connection.execute(
            script: """
                INSERT INTO transactions (environment, bundle_id, transaction_id, track,
                    signed_date_ms, content_hash, trust, original_transaction_id, product_id,
                    purchase_date_ms)
                SELECT 'Production', 'com.example', id, 'jws', 1, sha256('a'), 'apple', '1000',
                    product, bought
                FROM (VALUES ('1000', 'old', 10), ('1001', 'new', 20)) AS t (id, product, bought);
                INSERT INTO renewals (environment, original_transaction_id, trust, signed_date_ms,
                    content_hash, auto_renew_status)
                VALUES ('Production', '1000', 'apple', 1, sha256('b'), 1),
                    ('Production', '1000', 'other', 9, sha256('c'), 0);
                INSERT INTO owners (environment, bundle_id, original_transaction_id, user_id, rule)
                VALUES ('Production', 'com.example', '1000', 'anna', 'account_token');
                """)
        let rows = try await connection.query(
            """
            SELECT product_id, is_active, is_auto_renewing, ownership_rule, purchased_at
            FROM entitlement_details
            """)
        #expect(rows.count == 1)
        #expect(rows[0].text(0) == "new")
        #expect(rows[0].bool(1))
        #expect(rows[0].bool(2))
        #expect(rows[0].text(3) == "account_token")
        #expect(rows[0].timestamp(4) == 20)
    }
}
