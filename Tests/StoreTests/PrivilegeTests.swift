import Foundation
import Postgres
import Store
import TestSupport
import Testing

/// The rights of each role on the schema, and their limits.
@Suite(.timeLimit(.minutes(10))) struct PrivilegeTests {
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
    private func refusal(of sql: String, for role: DatabaseRole, _ owner: PostgresConnection) async throws
        -> PostgresError?
    {
        do {
            try await owner.transaction { transaction in
                try await transaction.execute(script: "SET LOCAL ROLE \"\(prefix)\(role.name)\"")
                _ = try await transaction.query(sql)
                throw Undone()
            }
            return nil
        } catch let error as PostgresError { return error } catch is Undone { return nil }
    }

    private struct Undone: Error {}

    @Test func `a role can do its task, and nothing beyond`() async throws {
        let owner = try await granted()
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "privileges.txt")
        var role = DatabaseRole.auditor
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where !line.hasPrefix("#") {
            let sql = String(line.dropFirst(2))
            switch line.first {
            case "+", "-":
                let state = try await refusal(of: sql, for: role, owner)?.sqlState
                let expected = line.first == "+" ? Self.errors[sql] : .insufficientPrivilege
                #expect(state == expected, "\(role.name): \(sql)")
            default: role = try #require(DatabaseRole.all.first { $0.name == line }, "\(line)")
            }
        }
        await owner.close()
    }

    /// A quote with an accent is one character to a reader, and still a quote to PostgreSQL.
    @Test func `a name may hold quotes of any kind, also with an accent on them`() async throws {
        let owner = try await PostgresConnection.connect(PostgresServer.shared.migratedDatabase())
        let odd = prefix + "o'a\"b'\u{301}c\"\u{301}$role$-"
        let script = DatabaseRole.script([.auditor], schema: "public", prefix: odd)
        try await owner.execute(script: script)
        let held = try await owner.query(
            "SELECT has_table_privilege($1, 'dead_letters', 'SELECT')", [.text(odd + DatabaseRole.auditor.name)])
        #expect(held.first?.bool(0) == true)
        await owner.close()
    }

    /// The errors of allowed statements: nobody has coins to spend here, or an entry to reverse.
    private static let errors = [
        "SELECT ledger_debit('a', 'coins', 1, 'r')": SQLState("LE001"),
        "SELECT ledger_reverse('a', 'r', 'why')": SQLState("LE004"),
    ]

    /// A function is everybody's only if it reads no more than its caller may, changes nothing and
    /// locks nothing.
    @Test func `each function is called by its roles, and by nobody else`() async throws {
        let owner = try await granted()
        let rows = try await owner.query(
            """
            SELECT proname::text, coalesce(string_agg(
                CASE WHEN acl.grantee = 0 THEN 'PUBLIC'
                ELSE substr(rolname, \(prefix.count + 1)) END, ', ' ORDER BY rolname), '')
            FROM pg_proc
            LEFT JOIN aclexplode(coalesce(proacl, acldefault('f', proowner))) AS acl
                ON acl.grantee <> proowner
            LEFT JOIN pg_roles AS role ON role.oid = acl.grantee
            WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'
                AND (acl.grantee IS NULL OR acl.grantee = 0 OR rolname LIKE $1)
            GROUP BY proname ORDER BY proname
            """, [.text(prefix + "%")])
        var held: [String: [String]] = [:]
        for row in rows { held[row.text(1), default: []].append(row.text(0)) }
        #expect(held == Self.callers)
        await owner.close()
    }

    /// Functions by their callers.
    private static let callers = [
        "PUBLIC": [
            "active_entitlements_in", "active_until", "boundary_after", "boundary_with_grace", "dead_letter",
            "dead_letter_hour", "due_boundaries", "entitlements_as_known", "explained_change", "explained_items",
            "explained_periods", "explained_rest", "explained_source", "explained_status",
            "explained_subscription_status", "had_entitlement", "has_entitlement", "held_entitlements", "instant_text",
            "is_environment", "is_identifier", "ledger_balance", "offer_name", "payload_date", "payload_number",
            "refund_preference", "require_environment", "require_history", "require_read_committed",
            "reversal_reference", "rows_bounded", "timestamptz_from_ms",
        ],
        // Triggers, and what other functions call.
        "": [
            "account_links_changed", "account_links_emptied", "account_links_normalize", "announce_boundaries_of",
            "append_dead_letter_actions", "apply_dead_letter_actions", "catalog_changed", "count_changed_dead_letters",
            "count_new_dead_letters", "count_removed_dead_letters", "explained_as_known", "explained_now",
            "explained_purchases", "find_next_boundary", "find_next_boundary_with_grace", "finish_purchases",
            "forget_dead_letter_counts", "post_to_ledger", "prune_plans", "publish_changes", "record_grant_change",
            "refuse_change_of_actions", "refuse_change_of_answers", "refuse_change_of_refunds",
            "request_refund_answers", "stamp_row",
        ], "app-server": ["ledger_debit", "set_refund_consent"],
        "app-server, pipeline-operator, support": ["ledger_reverse"],
        "dead-letter-index, entitle-worker, link-worker, pipeline-operator": ["lock_shared"],
        "dead-letter-replay": ["record_dead_letter_replay"],
        "dead-letter-replay, investigator": ["record_dead_letter_decision"],
        "dedupe-worker, pipeline-operator": ["dedupe_prune"],
        "entitle-worker, link-worker, pipeline-operator": ["lock_in_order", "lock_projection", "wait_for_sharers"],
        "entitle-worker, pipeline-operator": ["announce_boundaries", "lock_users"],
        "link-worker, pipeline-operator": ["lock_accounts", "lock_ownership"],
        "recovery-worker": ["account_token_to_set"],
        "pipeline-operator": ["decide_refund", "forget_user", "reapply_ownership_rules", "stored_about_user"],
        "pipeline-operator, support": [
            "explain_transaction", "explain_user", "grant_entitlement", "ledger_credit", "revoke_grant",
        ],
    ]

    @Test(arguments: [
        ("analyst", "purchases"), ("auditor", "refunds"), ("investigator", "refunds"),
        ("dead-letter-replay", "refunds"),
    ]) func `a role reads each column of a view but the user`(role: String, view: String) async throws {
        let owner = try await granted()
        let rows = try await owner.query(
            """
            SELECT attname::text FROM pg_attribute WHERE attrelid = $2::regclass
                AND NOT has_column_privilege($1, attrelid, attnum, 'SELECT')
            """, [.text(prefix + role), .text(view)])
        #expect(rows.map { $0.text(0) } == ["user_id"])
        await owner.close()
    }

    @Test func `who signed in and when is the database's word, not the writer's`() async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        let owner = try await PostgresConnection.connect(options)
        let roles = [DatabaseRole.replay, .operations, .accountLinker]
        let script = DatabaseRole.script(DatabaseRole.all, schema: "public", prefix: prefix)
        try await owner.execute(script: script)
        for role in roles {
            let name = "\"\(prefix)\(role.name)\""
            try await owner.execute(script: "ALTER ROLE \(name) PASSWORD 'secret'")
            var login = options
            let address = options.connectionString.split(separator: "@").last ?? ""
            login.connectionString = "postgresql://\(prefix)\(role.name):secret@\(address)"
            let connection = try await PostgresConnection.connect(login)
            for sql in Self.written[role.name] ?? [] { _ = try await connection.query(sql) }
            await connection.close()
        }
        let rows = try await owner.query(
            """
            SELECT database_user, at FROM dead_letter_actions
            UNION ALL SELECT database_user, begun_at FROM dead_letter_replays
            UNION ALL SELECT database_user, ended_at FROM dead_letter_replays
            UNION ALL SELECT database_user, sent_at FROM dead_letter_replays
                JOIN dead_letter_replay_records ON replay = dead_letter_replays.number
            UNION ALL SELECT database_user, granted_at FROM grants
            UNION ALL SELECT database_user, forgotten_at FROM forgotten_users
            UNION ALL SELECT applied_by, applied_at FROM catalog_versions
            UNION ALL SELECT database_user, linked_at FROM account_links
            """)
        #expect(rows.map { $0.text(0) } == [0, 0, 0, 0, 1, 1, 1, 2].map { prefix + roles[$0].name })
        let late = try await owner.query(
            """
            SELECT count(*) FROM (
                SELECT ended_at AS at FROM dead_letter_replays
                UNION ALL SELECT sent_at FROM dead_letter_replay_records
                UNION ALL SELECT applied_at FROM catalog_versions
                UNION ALL SELECT linked_at FROM account_links
            ) AS stamped WHERE at < now() - interval '1 hour' OR at > now() + interval '1 hour'
            """)
        #expect(late[0].int8(0) == 0)
        await owner.close()
    }

    private static let written = [
        "dead-letter-replay": [
            "SELECT record_dead_letter_replay('otto', 'redacted', 'why', NULL, ARRAY['a'], '{}')",
            "INSERT INTO dead_letter_replays (who, why, filter, count, rate, failing_share_max) "
                + "VALUES ('otto', 'why', 'all', 1, 1, 0)",
            "INSERT INTO dead_letter_replay_records (replay, ordinal, dead_letter_id) VALUES (1, 0, 'a')",
            "UPDATE dead_letter_replay_records SET sent_topic = 'raw', sent_partition = 0, sent_offset = 7",
            "UPDATE dead_letter_replays SET state = 'completed'",
        ],
        "pipeline-operator": [
            "SELECT grant_entitlement('a', 'pro', NULL, 'why', 'otto')", "SELECT forget_user('b', 'otto', 'why')",
            "INSERT INTO catalog_versions (content, content_sha256, applied_at, applied_by) "
                + "VALUES ('{}', sha256('{}'), '2001-01-01', 'somebody else')",
        ],
        "account-linker": [
            "INSERT INTO account_links (kind, key, user_id, linked_at, database_user) "
                + "VALUES ('original_transaction_id', '1', 'anna', '2001-01-01', 'somebody else')"
        ],
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
            """)
        #expect(free.map { $0.text(0) } == [])
        let callable = try await owner.query(
            """
            SELECT proname::text FROM pg_proc
            WHERE pronamespace = 'public'::regnamespace AND prosecdef
                AND has_function_privilege('public', oid, 'EXECUTE')
            """)
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
                    """)
            return try await transaction.query("SELECT count(*) FROM public.ledger_debits")
        }
        #expect(rows[0].int8(0) == 1)
        await owner.close()
    }
}
