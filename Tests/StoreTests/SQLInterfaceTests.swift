import Foundation
import Postgres
import Store
import TestSupport
import Testing

/// `schemas/postgres/API.md`, compared with the database.
@Suite(.timeLimit(.minutes(10))) struct SQLInterfaceTests {
    /// Functions that other functions, the workers or tools call; all others are the interface.
    private static let inner: Set<String> = [
        "account_token_to_set", "announce_boundaries", "announce_boundaries_of", "active_until",
        "append_dead_letter_actions", "boundary_after", "boundary_with_grace", "dead_letter_hour", "decide_refund",
        "dedupe_prune", "due_boundaries", "explained_as_known", "explained_change", "explained_items", "explained_now",
        "explained_periods", "explained_purchases", "explained_rest", "explained_source", "explained_status",
        "explained_subscription_status", "grace_periods", "instant_text", "is_environment", "lock_accounts",
        "lock_in_order", "lock_ownership", "lock_projection", "lock_shared", "lock_users", "merged_transactions",
        "offer_name", "payload_date", "payload_number", "post_to_ledger", "record_dead_letter_decision",
        "record_dead_letter_replay", "record_grant_change", "refund_preference", "require_environment",
        "require_history", "require_read_committed", "reversal_reference", "rows_bounded", "timestamptz_from_ms",
        "wait_for_sharers",
    ]

    /// The roles of those who integrate, in the order of the page.
    private static let roles: [DatabaseRole] = [
        .appServer, .accountLinker, .support, .analyst, .operations, .auditor, .investigator, .replay,
    ]

    private static let page = ReferenceScript.root.appending(path: "schemas/postgres/API.md")

    private static func text() throws -> String { try String(contentsOf: page, encoding: .utf8) }

    /// The cells of the page's table rows that begin with code, by what it names.
    private static func rows() throws -> [String: [String]] {
        var rows: [String: [String]] = [:]
        for line in try text().split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
            let name = cells[0].dropFirst().prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            let isNew = rows.updateValue(cells, forKey: String(name)) == nil
            #expect(isNew, "\(name) stands twice")
        }
        return rows
    }

    private static func isCode(_ name: String) -> Bool { name.wholeMatch(of: /[A-Z0-9]{5}/) != nil }

    /// Roles belong to the whole server: each test has its own.
    private let prefix = "a\(UUID().uuidString.prefix(8).lowercased())-"

    private func granted() async throws -> PostgresConnection {
        let owner = try await PostgresConnection.connect(PostgresServer.shared.migratedDatabase())
        try await DatabaseRole.grant(DatabaseRole.all, schema: "public", prefix: prefix, on: owner)
        return owner
    }

    private struct Undone: Error { let answer: String? }

    /// Runs a statement with a role's rights, and rolls it back unless it is to stay.
    ///
    /// - Returns: the first column of its first row, a text.
    private func run(_ sql: String, as role: String, stays: Bool = false, _ owner: PostgresConnection) async throws
        -> String?
    {
        do {
            return try await owner.transaction { transaction in
                try await transaction.execute(script: "SET LOCAL ROLE \"\(prefix)\(role)\"")
                let answer = try await transaction.query(sql).first?.optionalText(0)
                guard stays else { throw Undone(answer: answer) }
                return answer
            }
        } catch let undone as Undone { return undone.answer }
    }

    private func callers(of call: String, _ owner: PostgresConnection) async throws -> String {
        var callers: [String] = []
        for role in Self.roles {
            do { _ = try await run("SELECT count(*)::text FROM \(call)", as: role.name, owner) } catch let error
                as PostgresError where error.sqlState == .insufficientPrivilege
            { continue } catch is PostgresError {
                // It may be called, and refused these arguments.
            }
            callers.append("`\(role.name)`")
        }
        return callers.joined(separator: ", ")
    }

    private static let functions = """
        SELECT proname::text,
            proname || '(' || replace(replace(pg_get_function_arguments(oid),
                'timestamp with time zone', 'timestamptz'), '::text', '') || ')',
            replace(pg_get_function_result(oid), 'timestamp with time zone', 'timestamptz'),
            coalesce(obj_description(oid, 'pg_proc'), ''),
            proname || '(' || coalesce((
                SELECT string_agg(CASE type WHEN 'text'::regtype THEN '''Production'''
                    WHEN 'int8'::regtype THEN '1' WHEN 'bool'::regtype THEN 'true' ELSE 'now()' END,
                    ', ' ORDER BY number)
                FROM unnest(proargtypes::oid[]) WITH ORDINALITY AS argument (type, number)
                WHERE number <= pronargs - pronargdefaults), '') || ')'
        FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND prorettype <> 'trigger'::regtype
        ORDER BY proname
        """

    private static let views = """
        SELECT relname::text, relname::text, 'TABLE(' || (
                SELECT string_agg(attname || ' ' || replace(format_type(atttypid, atttypmod),
                    'timestamp with time zone', 'timestamptz'), ', ' ORDER BY attnum)
                FROM pg_attribute WHERE attrelid = pg_class.oid AND attnum > 0) || ')',
            coalesce(obj_description(oid, 'pg_class'), ''), relname::text
        FROM pg_class WHERE relnamespace = 'public'::regnamespace AND (relkind = 'v' OR relname = 'plans')
        ORDER BY relname
        """

    @Test func `the page has each function and view, as the database describes it`() async throws {
        let owner = try await granted()
        var expected: [String: [String]] = [:]
        for query in [Self.functions, Self.views] {
            for row in try await owner.query(query) where !Self.inner.contains(row.text(0)) {
                #expect(!row.text(3).isEmpty, "\(row.text(0)) has no comment")
                expected[row.text(0)] = [
                    "`\(row.text(1))`", "`\(row.text(2))`", row.text(3), try await callers(of: row.text(4), owner),
                ]
            }
        }
        await owner.close()
        let found = try Self.rows().filter { !Self.isCode($0.key) }
        for (name, cells) in expected.sorted(by: { $0.key < $1.key }) {
            #expect(found[name] == cells, "expected | \(cells.joined(separator: " | ")) |")
        }
        #expect(Set(found.keys) == Set(expected.keys))
    }

    private static let conditions = ["invalid_parameter_value": "22023"]

    @Test func `the page has each error code, and the functions that raise it`() async throws {
        let owner = try await granted()
        let definitions = try await owner.query(
            """
            SELECT proname::text, pg_get_functiondef(oid) FROM pg_proc
            WHERE pronamespace = 'public'::regnamespace AND prorettype <> 'trigger'::regtype
            """)
        await owner.close()
        var codes: [String: Set<String>] = [:]
        var calls: [String: Set<String>] = [:]
        let names = definitions.map { $0.text(0) }
        for row in definitions {
            let text = row.text(1)
            codes[row.text(0)] = Set(
                text.matches(of: /ERRCODE = '(\w+)'/).map { match in Self.conditions[String(match.1)] ?? String(match.1)
                })
            calls[row.text(0)] = Set(names.filter { text.contains("\($0)(") && $0 != row.text(0) })
        }
        // As many rounds as calls may be nested.
        for _ in names {
            for (name, called) in calls {
                let passed = called.flatMap { codes[$0] ?? [] }
                codes[name]?.formUnion(passed)
            }
        }
        var expected: [String: [String]] = [:]
        for (name, raised) in codes where !Self.inner.contains(name) {
            raised.forEach { expected[$0, default: []].append("`\(name)`") }
        }
        let found = try Self.rows().filter { Self.isCode($0.key) }
        for (code, functions) in expected {
            let cell = functions.sorted().joined(separator: ", ")
            #expect(found[code]?.last == cell, "\(code): expected \(cell)")
        }
        #expect(Set(found.keys) == Set(expected.keys))
    }

    private static let holdings = """
        INSERT INTO entitlements (
            environment, bundle_id, original_transaction_id, entitlement_key, user_id, periods)
        VALUES ('Production', 'com.example', '1000', 'pro', 'user-17', '{[2026-01-01,)}');
        INSERT INTO ledger (environment, bundle_id, transaction_id, currency,
            original_transaction_id, product_id, user_id, amount, purchase_date_ms)
        VALUES ('Production', 'com.example', '1001', 'coins', '1001', 'chest', 'user-17', 100, 0);
        INSERT INTO owners (environment, bundle_id, original_transaction_id, user_id, rule)
        VALUES ('Production', 'com.example', '2000', 'user-17', 'account_token');
        INSERT INTO renewals (environment, original_transaction_id, trust, signed_date_ms, content_hash,
            auto_renew_status)
        VALUES ('Production', '2000', 'apple', 1, sha256(''), 1);
        INSERT INTO transactions (environment, bundle_id, transaction_id, track, signed_date_ms, content_hash,
            trust, original_transaction_id, product_id, purchase_date_ms, product_type, expires_date_ms,
            revocation_date_ms, revocation_percentage, ownership_type)
        SELECT 'Production', 'com.example', id, 'jws', 1, sha256(''), 'apple', original, 'pro.monthly', bought,
            'Auto-Renewable Subscription', expires, revoked, 50000, owned
        FROM (VALUES
            -- March 2026: a copy of each other, half refunded; and a family member's.
            ('2000', '2000', 1772500000000, 1775100000000, 1772600000000, 'PURCHASED'),
            ('2001', '2000', 1772500000001, 1775100000000, NULL, 'PURCHASED'),
            ('2002', '2002', 1772500000000, 1775100000000, NULL, 'FAMILY_SHARED'),
            ('2003', '2000', 1775100000000, 4102444800000, NULL, 'PURCHASED')
        ) AS signed (id, original, bought, expires, revoked, owned);
        INSERT INTO revisions (kind, environment, bundle_id, id, trust, track, content_hash, signed_date_ms, payload,
            source_topic, source_partition, source_offset, source_index)
        SELECT 'transaction', 'Production', 'com.example', id, '', 'jws', sha256(''), 1,
            '{"price":10000,"currency":"EUR","storefront":"DEU"}', 'raw', 0, 0, 0
        FROM unnest('{2000,2001,2002,2003}'::text[]) AS id;
        """

    @Test func `the page's SQL examples run, as the role that they name`() async throws {
        let owner = try await granted()
        try await owner.execute(script: Self.holdings)
        var count = 0
        for block in try Self.text().components(separatedBy: "```sql\n-- ").dropFirst() {
            let lines = block.split(separator: "\n").prefix { !$0.hasPrefix("```") }
            let role = try #require(lines.first.map(String.init))
            var sql = ""
            for line in lines.dropFirst() {
                sql += sql.isEmpty ? line : " " + line
                guard sql.contains(";") else { continue }
                let parts = sql.components(separatedBy: ";")
                sql = ""
                let answer = parts[1].isEmpty ? nil : parts[1].replacing(" -- ", with: "")
                try await check(parts[0], answer, role, owner)
                count += 1
            }
        }
        await owner.close()
        #expect(count > 12)
    }

    /// - Parameter answer: the first value, or the code of the error; nil for any.
    private func check(_ sql: String, _ answer: String?, _ role: String, _ owner: PostgresConnection) async throws {
        let isSelect = sql.hasPrefix("SELECT")
        let asked = isSelect ? "SELECT row_to_json(answer)::text FROM (\(sql)) AS answer" : sql
        do {
            let found = try await run(asked, as: role, stays: true, owner)
            guard let answer else { return }
            #expect(found?.hasSuffix(":\(answer)}") == true, "\(sql): \(found ?? "nothing")")
        } catch let error as PostgresError { #expect(error.sqlState.map { "\($0)" } == answer, "\(sql): \(error)") }
    }
}
