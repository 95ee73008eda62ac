import Foundation
import Postgres
import Store
import TestSupport
import Testing

/// The rights of each role on the schema, and their limits.
@Suite(.timeLimit(.minutes(10)))
struct PrivilegeTests {
    /// Roles belong to the whole server: each test has its own.
    private let prefix = "t\(UUID().uuidString.prefix(8).lowercased())-"

    private func granted() async throws -> PostgresConnection {
        let owner = try await PostgresConnection.connect(PostgresServer.shared.migratedDatabase())
        let script = DatabaseRole.script(DatabaseRole.all, schema: "public", prefix: prefix)
        // Twice, as after a migration.
        try await owner.execute(script: script)
        try await owner.execute(script: script)
        return owner
    }

    /// Runs a statement with a role's rights and rolls it back.
    ///
    /// - Returns: why PostgreSQL refused it; nil if it did not.
    private func refusal(
        of sql: String,
        for role: DatabaseRole,
        _ owner: PostgresConnection
    ) async throws -> PostgresError? {
        do {
            try await owner.transaction { transaction in
                try await transaction.execute(script: "SET LOCAL ROLE \"\(prefix)\(role.name)\"")
                _ = try await transaction.query(sql)
                throw Undone()
            }
            return nil
        } catch let error as PostgresError {
            return error
        } catch is Undone {
            return nil
        }
    }

    private struct Undone: Error {}

    @Test func `a role can do its task, and nothing beyond`() async throws {
        let owner = try await granted()
        for (role, allowed, forbidden) in Self.cases {
            for sql in allowed {
                let refusal = try await refusal(of: sql, for: role, owner)
                #expect(refusal?.sqlState == Self.errors[sql], "\(role.name): \(sql)")
            }
            for sql in forbidden {
                let refusal = try await refusal(of: sql, for: role, owner)
                #expect(refusal?.sqlState == .insufficientPrivilege, "\(role.name): \(sql)")
            }
        }
        await owner.close()
    }

    /// With an accent the quote is one character with it to a reader, and a quote to PostgreSQL.
    @Test func `a name may hold quotes of any kind, also with an accent on them`() async throws {
        let owner = try await PostgresConnection.connect(PostgresServer.shared.migratedDatabase())
        let odd = prefix + "o'a\"b'\u{301}c\"\u{301}$role$-"
        let script = DatabaseRole.script([.auditor], schema: "public", prefix: odd)
        try await owner.execute(script: script)
        let held = try await owner.query(
            "SELECT has_table_privilege($1, 'dead_letters', 'SELECT')",
            [.text(odd + DatabaseRole.auditor.name)]
        )
        #expect(held.first?.bool(0) == true)
        await owner.close()
    }

    /// The errors of allowed statements: nobody has coins to spend here.
    private static let errors = [
        "SELECT ledger_debit('a', 'coins', 1, 'r')": SQLState("LE001")
    ]

    private static let cases: [(DatabaseRole, allowed: [String], forbidden: [String])] = [
        (
            .dedupeWorker,
            ["DELETE FROM dedupe_revisions", "SELECT * FROM held_entitlements('a')"],
            [
                "DELETE FROM entitlements", "INSERT INTO owners SELECT * FROM owners",
                "SELECT FROM account_links", "SELECT FROM transactions",
            ]
        ),
        (
            .linkWorker, ["DELETE FROM owners", "SELECT lock_accounts('{}', '{}', '{}')"],
            [
                "INSERT INTO transactions SELECT * FROM transactions", "DELETE FROM entitlements",
                "INSERT INTO revisions SELECT * FROM revisions", "DELETE FROM account_links",
            ]
        ),
        (
            .entitleWorker,
            ["INSERT INTO transactions SELECT * FROM transactions", "DELETE FROM entitlements"],
            [
                "UPDATE owners SET user_id = 'me'", "SELECT FROM account_links",
                "DELETE FROM changes", "DELETE FROM transactions",
                "SELECT grant_entitlement('a', 'pro', NULL, 'why', 'who')",
                "UPDATE grants SET reason = 'mine'",
                "UPDATE catalog_versions SET content = '{}'",
            ]
        ),
        (
            .deadLetterIndex, ["DELETE FROM dead_letters", "TRUNCATE dead_letters_rebuilt"],
            ["INSERT INTO dead_letter_actions (who, action) VALUES ('a', 'signed_in')"]
        ),
        (
            .auditor, ["SELECT FROM dead_letters", "SELECT FROM dead_letter_actions"],
            [
                "INSERT INTO dead_letter_actions (who, action) VALUES ('a', 'signed_in')",
                "DELETE FROM dead_letters", "SELECT FROM transactions", "SELECT FROM owners",
            ]
        ),
        (
            .investigator,
            ["INSERT INTO dead_letter_actions (who, action) VALUES ('a', 'signed_in')"],
            ["UPDATE dead_letters SET state = 'open'", "SELECT FROM account_links"]
        ),
        (
            .replay, ["UPDATE dead_letter_replays SET ended_at = now()"],
            ["UPDATE dead_letters SET state = 'open'", "DELETE FROM dead_letter_replays"]
        ),
        (
            .operations,
            [
                "SELECT grant_entitlement('a', 'pro', NULL, 'why', 'who')",
                "SELECT forget_user('a', 'who', 'why')", "SELECT reapply_ownership_rules()",
                "SELECT FROM entitlement_details",
                "LOCK TABLE catalog_versions IN SHARE ROW EXCLUSIVE MODE",
                "UPDATE transactions SET expires_date_ms = 1", "DELETE FROM renewal_spans",
                "SELECT FROM app_downloads FOR NO KEY UPDATE",
            ],
            [
                "UPDATE changes SET user_id = 'me'", "DELETE FROM dead_letter_actions",
                "DELETE FROM renewals", "DELETE FROM app_downloads",
                "UPDATE grants SET reason = 'mine'", "DELETE FROM transactions",
                "SELECT ledger_debit('a', 'coins', 1, 'r')",
            ]
        ),
        (
            .appServer,
            [
                "SELECT has_entitlement('a', 'pro')", "SELECT ledger_debit('a', 'coins', 1, 'r')",
                "SELECT FROM active_entitlements", "SELECT FROM ledger_balances",
            ],
            [
                "INSERT INTO ledger_debits SELECT * FROM ledger_debits", "SELECT FROM revisions",
                "SELECT grant_entitlement('a', 'pro', NULL, 'why', 'who')",
            ]
        ),
        (
            .accountLinker,
            [
                """
                INSERT INTO account_links (kind, environment, bundle_id, key, user_id)
                VALUES ('original_transaction_id', 'Production', 'app', '1', 'anna')
                """
            ],
            ["SELECT FROM owners", "SELECT FROM account_link_changes"]
        ),
    ]

    @Test func `nobody but the owner creates in the schema`() async throws {
        let owner = try await granted()
        for role in DatabaseRole.all {
            for sql in [
                "CREATE TABLE mine (a int)", "CREATE VIEW mine AS SELECT 1",
                "CREATE FUNCTION mine() RETURNS int LANGUAGE sql RETURN 1",
            ] {
                let refusal = try await refusal(of: sql, for: role, owner)
                #expect(refusal?.sqlState == .insufficientPrivilege, "\(role.name): \(sql)")
            }
        }
        await owner.close()
    }

    @Test func `no function depends on its caller's search path`() async throws {
        let owner = try await granted()
        let free = try await owner.query(
            """
            SELECT proname::text FROM pg_proc JOIN pg_language AS l ON l.oid = prolang
            WHERE pronamespace = 'public'::regnamespace AND prokind = 'f' AND (
                l.lanname = 'sql' AND prosqlbody IS NULL
                OR l.lanname = 'plpgsql'
                    AND coalesce(array_to_string(proconfig, ' '), '')
                        <> 'search_path=public, pg_temp')
            """
        )
        #expect(free.map { $0.text(0) } == [])
        let callable = try await owner.query(
            """
            SELECT proname::text FROM pg_proc
            WHERE pronamespace = 'public'::regnamespace AND prosecdef
                AND has_function_privilege('public', oid, 'EXECUTE')
            """
        )
        #expect(callable.map { $0.text(0) } == ["require_history"])
        await owner.close()
    }

    @Test func `a table of the caller's own is not taken for the pipeline's`() async throws {
        let owner = try await granted()
        let rows = try await owner.transaction { transaction in
            try await transaction.execute(
                script: """
                    CREATE TEMPORARY TABLE ledger_debits AS TABLE public.ledger_debits;
                    INSERT INTO public.ledger (
                        environment, bundle_id, transaction_id, user_id, currency,
                        original_transaction_id, product_id, purchase_date_ms, amount, taken_back)
                    VALUES ('Production', 'app', '1', 'anna', 'coins', '1', 'p', 1, 10, 0);
                    SELECT ledger_debit('anna', 'coins', 3, 'sword');
                    """
            )
            return try await transaction.query("SELECT count(*) FROM public.ledger_debits")
        }
        #expect(rows[0].int8(0) == 1)
        await owner.close()
    }
}
