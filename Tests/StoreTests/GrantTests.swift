import Postgres
import TestSupport
import Testing

/// Grants by people, and their history.
@Suite(.timeLimit(.minutes(10))) struct GrantTests {
    private static func database() async throws -> PostgresClient {
        PostgresClient(try await PostgresServer.shared.migratedDatabase(), connectionsMax: 4)
    }

    private static func isTrue(_ client: PostgresClient, _ expression: String) async throws -> Bool {
        try await client.query("SELECT \(expression)")[0].bool(0)
    }

    @Test func `a grant applies at once, in its environment, until it is revoked`() async throws {
        let client = try await Self.database()
        let grant = try await client.query(
            "SELECT grant_entitlement('anna', 'pro', now() + interval '1 day', 'sorry', 'support')")[0].int8(0)
        #expect(try await Self.isTrue(client, "has_entitlement('anna', 'pro')"))
        #expect(try await !Self.isTrue(client, "has_entitlement('anna', 'pro', now(), 'Sandbox')"))
        #expect(try await !Self.isTrue(client, "has_entitlement('anna', 'pro', now() + interval '2 days')"))
        let active = try await client.query("SELECT * FROM active_entitlements")
        #expect(active.count == 1)
        #expect(active[0].isNull(2) && active[0].isNull(3))
        #expect(active[0].int8(4) == grant)
        #expect(try await Self.isTrue(client, "revoke_grant(\(grant), 'mistake', 'boss')"))
        #expect(try await !Self.isTrue(client, "has_entitlement('anna', 'pro')"))
        #expect(try await !Self.isTrue(client, "revoke_grant(\(grant), 'again', 'boss')"))
        #expect(try await !Self.isTrue(client, "revoke_grant(4711, 'none', 'boss')"))
    }

    @Test func `grants appear in the same history and feed, and name no purchase`() async throws {
        let client = try await Self.database()
        _ = try await client.query("SELECT grant_entitlement('anna', 'pro', NULL, 'sorry', 'support')")
        _ = try await client.query("SELECT pg_sleep(0.01)")
        _ = try await client.query("SELECT revoke_grant(1, 'mistake', 'boss')")
        let changes = try await client.query(
            """
            SELECT version, cause, cause_id, original_transaction_id, grant_id
            FROM changes ORDER BY version
            """)
        #expect(changes.map { $0.int8(0) } == [1, 2])
        #expect(changes.allSatisfy { $0.text(1) == "grant" && $0.text(2) == "1" && $0.isNull(3) })
        #expect(try await client.query("SELECT count(*) FROM unpublished_changes")[0].int8(0) == 2)
        #expect(try await client.query("SELECT count(*) FROM entitlements")[0].int8(0) == 0)
    }

    @Test func `known names are those of the last catalog, of grants, of the ledger and of purchases`() async throws {
        let client = try await Self.database()
        let catalogs = [
            #"{"products":{"old":{"type":"non-consumable"}}}"#,
            """
            {"products":{"chest":{"type":"consumable","credits":{"coins":100}},"pass":{"type":"non-consumable"},
            "pro.monthly":{"type":"auto-renewable","entitlements":["pro","cloud"]}}}
            """,
        ]
        for catalog in catalogs {
            _ = try await client.query(
                "INSERT INTO catalog_versions (content, content_sha256) VALUES ($1, sha256('x'))",
                [.json(Array(catalog.utf8))])
        }
        _ = try await client.query("SELECT grant_entitlement('anna', 'pro', NULL, 'sorry', 'support')")
        _ = try await client.query("SELECT ledger_credit('anna', 'gems', 1, 'ticket', 'sorry')")
        _ = try await client.query(
            "INSERT INTO entitlements VALUES ('Production', 'app', '1', 'legacy', 'anna', '{[2020-01-01,)}')")
        let names = try await client.query(
            #"SELECT concat_ws(' ', kind, name, known_by) COLLATE "C" FROM known_names ORDER BY 1"#)
        #expect(
            names.map { $0.text(0) } == [
                "currency coins catalog", "currency gems ledger", "entitlement cloud catalog",
                "entitlement legacy purchase", "entitlement pass catalog", "entitlement pro catalog",
                "entitlement pro grant", "product chest catalog", "product pass catalog", "product pro.monthly catalog",
            ])
    }

    @Test func `one reference grants once, also side by side and after it was revoked`() async throws {
        let client = try await Self.database()
        let call =
            "grant_entitlement('anna', 'pro', now() + interval '1 day', 'sorry', 'support', reference => 'ticket')"
        let numbers = try await withThrowingTaskGroup(of: Int64.self) { group in
            for _ in 0..<20 { group.addTask { try await client.query("SELECT \(call)")[0].int8(0) } }
            return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
        }
        let number = try #require(numbers.first)
        #expect(numbers.count == 1)
        #expect(try await client.query("SELECT count(*) FROM grants")[0].int8(0) == 1)
        #expect(try await Self.isTrue(client, "revoke_grant(\(number), 'mistake', 'boss')"))
        #expect(try await client.query("SELECT \(call)")[0].int8(0) == number)
        let late = call.replacing("+ interval", with: "- interval")
        #expect(try await client.query("SELECT \(late)")[0].int8(0) == number)
        #expect(try await !Self.isTrue(client, "has_entitlement('anna', 'pro')"))
        let other = call.replacing("'pro'", with: "'plus'")
        let error = await #expect(throws: PostgresError.self) { _ = try await client.query("SELECT \(other)") }
        #expect(error?.sqlState == SQLState("LE002"))
    }

    @Test func `a grant that ends before it begins, or without a reason, is refused`() async throws {
        let client = try await Self.database()
        for call in [
            "grant_entitlement('anna', 'pro', now() - interval '1 s', 'sorry', 'support')",
            "grant_entitlement('anna', 'pro', NULL, '', 'support')",
            "grant_entitlement('anna', 'pro', NULL, 'sorry', '')",
        ] { await #expect(throws: PostgresError.self) { _ = try await client.query("SELECT \(call)") } }
        #expect(try await client.query("SELECT count(*) FROM user_versions")[0].int8(0) == 0)
    }

    @Test func `a grant until infinity has no end, and no row holds an infinite instant`() async throws {
        let client = try await Self.database()
        for until in ["NULL", "'infinity'"] {
            _ = try await client.query("SELECT grant_entitlement('anna', 'pro', \(until), 'sorry', 'support')")
        }
        let endless = try await client.query(
            """
            SELECT count(*) FROM held_entitlements('anna')
            WHERE upper_inf(periods) AND upper(periods) IS NULL
            """)
        #expect(endless[0].int8(0) == 2)
        for (table, columns) in [
            ("grants", "(environment, user_id, entitlement_key, granted_by, reason, periods)"),
            ("entitlements", "(environment, user_id, entitlement_key, bundle_id, original_transaction_id, periods)"),
        ] {
            for span in ["now(), 'infinity'", "'-infinity', now()"] {
                let error = await #expect(throws: PostgresError.self) {
                    _ = try await client.query(
                        """
                        INSERT INTO \(table) \(columns) VALUES
                            ('Production', 'anna', 'pro', 'a', 'b',
                            tstzmultirange(tstzrange(\(span))))
                        """)
                }
                #expect(error?.sqlState == SQLState("23514"), "\(table): \(span)")
            }
        }
    }

    @Test func `past entitlements are answered as known at an instant`() async throws {
        let client = try await Self.database()
        // Bought in January; in March Apple takes it back from the beginning of February on.
        _ = try await client.query(
            """
            INSERT INTO changes (user_id, version, environment, bundle_id,
                original_transaction_id, entitlement_key, old_periods, new_periods, cause,
                changed_at)
            VALUES
                ('anna', 1, 'Production', 'app', '1', 'pro', '{}',
                    '{[2026-01-01 00:00+00, 2027-01-01 00:00+00)}', 'transaction',
                    '2026-01-01 00:00:01+00'),
                ('anna', 2, 'Production', 'app', '1', 'pro',
                    '{[2026-01-01 00:00+00, 2027-01-01 00:00+00)}',
                    '{[2026-01-01 00:00+00, 2026-02-01 00:00+00)}', 'notification',
                    '2026-03-01 00:00:00+00')
            """)
        for (at, knownAt, held) in [
            ("2026-02-10", "2025-12-31", false), ("2026-02-10", "2026-02-11", true),
            ("2026-02-10", "2026-03-02", false), ("2026-01-10", "2026-03-02", true),
            ("2025-12-31", "2026-02-11", false),
        ] {
            let call = "had_entitlement('anna', 'pro', '\(at) 00:00+00', '\(knownAt) 00:00+00')"
            #expect(try await Self.isTrue(client, call) == held, "\(call)")
        }
        #expect(try await !Self.isTrue(client, "had_entitlement('anna', 'pro', '2026-02-10', '2026-02-11', 'Sandbox')"))
    }
}
