import Postgres
import Settings
import TestSupport
import Testing

/// A question or a grant with a misspelt environment concerns no purchases: it is an error, never a
/// "no" to a customer who has paid.
@Suite(.timeLimit(.minutes(10))) struct EnvironmentTests {
    /// A call of each function that takes an environment, as `$1`.
    private static let calls = [
        "active_entitlements_in": "SELECT count(*)::text FROM active_entitlements_in($1)",
        "decide_refund": "SELECT decide_refund('u', $1, 'none', 'eva', 'why')::text",
        "entitlements_as_known": """
        SELECT count(*)::text FROM entitlements_as_known('anna', now(), $1)
        """, "explain_transaction": "SELECT explain_transaction('1', $1)::text",
        "explain_user": "SELECT explain_user('anna', $1)::text",
        "grant_entitlement": """
        SELECT grant_entitlement('anna', 'pro', NULL, 'sorry', 'support', $1)::text
        """, "had_entitlement": "SELECT had_entitlement('anna', 'pro', now(), now(), $1)::text",
        "has_entitlement": "SELECT has_entitlement('anna', 'pro', now(), $1)::text",
        "ledger_balance": "SELECT ledger_balance('anna', 'gold', $1)::text",
        "ledger_credit": "SELECT ledger_credit('anna', 'gold', 1, 'ticket', 'why', $1)::text",
        "ledger_debit": "SELECT ledger_debit('anna', 'gold', 1, 'sword', $1)::text",
    ]

    private let connection: PostgresConnection

    init() async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        connection = try await PostgresConnection.connect(options)
    }

    @Test(arguments: ["production", "PRODUCTION", " Production", "Prod", "sandbox", "", nil])
    func `every function that takes an environment refuses an unknown one`(environment: String?) async throws {
        for (name, call) in Self.calls {
            let error = await #expect(throws: PostgresError.self, "\(name)") {
                _ = try await connection.query(call, [environment.map { .text($0) } ?? .null])
            }
            #expect(error?.sqlState == SQLState("UE001"), "\(name)")
        }
    }

    @Test func `the functions above are all that take an environment`() async throws {
        let functions = try await connection.query(
            """
            SELECT proname::text FROM pg_proc
            WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'
              AND 'environment' = ANY (proargnames[:pronargs])
              -- The others serve these alone.
              AND obj_description(oid, 'pg_proc') IS NOT NULL
            ORDER BY 1
            """)
        #expect(functions.map { $0.text(0) } == Self.calls.keys.sorted())
    }

    @Test(arguments: AppleEnvironment.allCases) func `each environment in the settings is known`(
        environment: AppleEnvironment
    ) async throws {
        _ = try await connection.query(
            """
            INSERT INTO ledger (environment, bundle_id, transaction_id, currency,
                original_transaction_id, product_id, user_id, amount, purchase_date_ms)
            VALUES ($1, 'com.example', '1', 'gold', '1', 'coins', 'anna', 1, 1)
            """, [.text(environment.rawValue)])
        for (name, call) in Self.calls.sorted(by: { $0.key < $1.key }) {
            let answer = try await connection.query(call, [.text(environment.rawValue)])
            #expect(answer.count == 1, "\(name)")
        }
        let held = try await connection.query(
            "SELECT has_entitlement('anna', 'pro', now() + interval '1 minute', $1)", [.text(environment.rawValue)])
        #expect(held[0].bool(0))
    }

    @Test(arguments: [
        "account_links (kind, key, user_id, environment) VALUES ('app_transaction_id', '1', 'a', $1)",
        "grants (environment, user_id, entitlement_key, periods, granted_by, reason) "
            + "VALUES ($1, 'anna', 'pro', tstzmultirange(tstzrange(now(), NULL)), 'a', 'b')",
        "ledger_debits (user_id, reference, environment, currency, amount) VALUES ('anna', 'r', $1, 'coins', 1)",
    ]) func `a manual row cannot name an unknown environment`(insertion: String) async throws {
        let error = await #expect(throws: PostgresError.self) {
            _ = try await connection.query("INSERT INTO \(insertion)", [.text("production")])
        }
        #expect(error?.sqlState == SQLState("23514"))
        _ = try await connection.query("INSERT INTO \(insertion)", [.text("Sandbox")])
    }
}
