import Foundation
import Postgres
import TestSupport
import Testing

/// `deploy/postgres/export.sql`, run by psql.
@Suite(.timeLimit(.minutes(10))) struct ExportTests {
    private static let script = ReferenceScript.root.appending(path: "deploy/postgres/export.sql")

    /// Tables that others follow from, and those of the pipeline's own work.
    private static let kept: Set<String> = [
        "account_link_acts", "account_link_changes", "apple_notifications", "catalog_projection", "closed_periods",
        "dead_letter_actions", "dead_letter_groups", "dead_letter_hours", "dead_letter_progress",
        "dead_letter_replay_positions", "dead_letter_replay_records", "dead_letter_replays", "dead_letter_states",
        "dead_letters", "dead_letters_rebuilt", "dedupe_notifications", "dedupe_revisions", "feed_lease",
        "feed_repetitions", "forgotten_users", "history_archives", "linking_rules", "notifications", "owner_changes",
        "ownership_claims", "ownership_facts", "ownership_renewals", "ownership_restores", "plans", "recovery_limits",
        "recovery_requests", "recovery_slices", "recovery_windows", "refund_acts", "refund_consents", "refund_requests",
        "renewals", "schema_migrations", "stacked_purchases", "unpublished_changes", "user_versions",
    ]

    @Test func `a purchase comes out with its users, its refund, its price and its grace`() async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        let connection = try await PostgresConnection.connect(options)
        try await connection.execute(script: Self.rows)
        await connection.close()
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let run = try ProgramRun(
            "/usr/bin/psql", ["--no-psqlrc", "--quiet", "--file", Self.script.path, options.connectionString],
            in: folder)
        #expect(run.isSuccess && run.text.isEmpty, "\(run.text)")

        let lines = try Self.lines("transactions.csv", folder)
        #expect(lines == Self.transactions)
        #expect(
            try Self.lines("entitlements.csv", folder).dropFirst() == [
                "anna,pro,2026-01-01 00:00:00,2026-02-05 00:00:00,1,PURCHASED,,,Production,com.example",
                "ben,pro,2026-03-01 00:00:00,,1,PURCHASED,,,Production,com.example",
            ])
        let counts = try ["grants", "ledger", "account_links", "app_downloads", "changes", "payloads", "catalogs"].map {
            try Self.lines("\($0).csv", folder).count - 1
        }
        #expect(counts == [1, 2, 1, 0, 1, 1, 1])
    }

    @Test func `each table is written out, or named as one that is not`() async throws {
        let script = try String(contentsOf: Self.script, encoding: .utf8)
        let connection = try await PostgresConnection.connect(PostgresServer.shared.migratedDatabase())
        let rows = try await connection.query(
            "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'")
        await connection.close()
        let tables = rows.map { $0.text(0) }
        let derived = ["ledger", "ledger_debits"]
        for table in tables where !derived.contains(table) {
            let isWritten = script.contains(try Regex("(FROM|JOIN|COPY) \(table)\\b"))
            #expect(isWritten != Self.kept.contains(table), "\(table)")
        }
        #expect(Self.kept.isSubset(of: tables))
    }

    private static func lines(_ name: String, _ folder: URL) throws -> [String] {
        try String(contentsOf: folder.appending(path: name), encoding: .utf8).split(separator: "\n").map(String.init)
    }

    private static let transactions = [
        "rc_original_app_user_id,rc_last_seen_app_user_id_alias,product_identifier,start_time,end_time,"
            + "grace_period_end_time,effective_end_time,store,is_auto_renewable,is_trial_period,is_sandbox,"
            + "store_transaction_id,original_store_transaction_id,refunded_at,purchased_currency,"
            + "price_in_purchased_currency,entitlement_identifiers,ownership_type,quantity,environment,bundle_id,"
            + "account_token,app_transaction_id,web_order_line_item_id",
        "anna,ben,pro.monthly,2026-01-01 00:00:00,2026-02-01 00:00:00,2026-02-05 00:00:00,2026-02-05 00:00:00,app_store,"
            + #"t,t,f,1,1,,EUR,9.99,"[""pro""]",PURCHASED,1,Production,com.example,,704,"#,
        "ben,ben,pro.monthly,2026-03-01 00:00:00,2026-04-01 00:00:00,,2026-04-01 00:00:00,app_store,"
            + #"t,f,f,2,1,2026-03-10 00:00:00,,,"[""pro""]",PURCHASED,1,Production,com.example,,704,"#,
        #",,chest,2026-04-01 00:00:00,,,,app_store,f,f,t,3,3,,,,[],,1,Sandbox,com.example,,,"#,
        #",,lamp,2026-05-01 00:00:00,,,,app_store,f,f,t,4,4,,,,"[""lamp""]",,1,Sandbox,com.example,,,"#,
    ]

    private static let rows = """
        CREATE FUNCTION ms(date text) RETURNS bigint LANGUAGE sql RETURN extract(epoch FROM date::timestamptz) * 1000;
        SET TimeZone = 'UTC';
        INSERT INTO catalog_versions (content, content_sha256) VALUES (
            '{"products":{"pro.monthly":{"type":"auto-renewable","entitlements":["pro"]}}}', sha256('catalog'));
        INSERT INTO transactions (environment, bundle_id, transaction_id, track, signed_date_ms, content_hash, trust,
            original_transaction_id, product_id, purchase_date_ms, product_type, quantity, expires_date_ms,
            revocation_date_ms, revoked_signed_date_ms, ownership_type, app_transaction_id)
        VALUES
            ('Production', 'com.example', '1', 'jws', 1, sha256('1'), 'apple', '1', 'pro.monthly', ms('2026-01-01'),
                'Auto-Renewable Subscription', 1, ms('2026-02-01'), NULL, NULL, 'PURCHASED', '704'),
            ('Production', 'com.example', '2', 'jws', 1, sha256('2'), 'apple', '1', 'pro.monthly', ms('2026-03-01'),
                'Auto-Renewable Subscription', 1, ms('2026-04-01'), NULL, NULL, 'PURCHASED', '704'),
            ('Production', 'com.example', '2', 'receipt', 2, sha256('3'), 'apple', '1', 'pro.monthly',
                ms('2026-03-01'), NULL, 1, ms('2026-04-01'), ms('2026-03-10'), 2, NULL, NULL),
            ('Sandbox', 'com.example', '3', 'jws', 1, sha256('4'), 'apple', '3', 'chest', ms('2026-04-01'),
                'Consumable', 1, NULL, NULL, NULL, NULL, NULL),
            ('Sandbox', 'com.example', '4', 'jws', 1, sha256('5'), 'apple', '4', 'lamp', ms('2026-05-01'),
                'Non-Consumable', 1, NULL, NULL, NULL, NULL, NULL);
        INSERT INTO revisions (kind, environment, bundle_id, id, trust, track, content_hash, signed_date_ms, payload,
            source_topic, source_partition, source_offset, source_index)
        VALUES ('transaction', 'Production', 'com.example', '1', '', 'jws', sha256('1'), 1,
            '{"price":9990,"currency":"EUR","offerDiscountType":"FREE_TRIAL"}', 'storekit.raw', 0, 0, 0);
        INSERT INTO owners (environment, bundle_id, original_transaction_id, user_id, rule, spans)
        VALUES ('Production', 'com.example', '1', 'ben', 'account_token',
            json_build_array(json_build_array('anna', NULL), json_build_array('ben', ms('2026-03-01'))));
        INSERT INTO renewal_spans (environment, original_transaction_id, trust, kind, start_ms, end_ms)
        VALUES ('Production', '1', 'apple', 'grace', ms('2026-02-01'), ms('2026-02-05'));
        INSERT INTO entitlements (environment, bundle_id, original_transaction_id, entitlement_key, user_id, periods,
            ownership_type)
        VALUES ('Production', 'com.example', '1', 'pro', 'anna', '{[2026-01-01,2026-02-05)}', 'PURCHASED'),
            ('Production', 'com.example', '1', 'pro', 'ben', '{[2026-03-01,)}', 'PURCHASED');
        INSERT INTO ledger (environment, bundle_id, transaction_id, currency, original_transaction_id, product_id,
            user_id, amount, purchase_date_ms)
        VALUES ('Production', 'com.example', '5', 'coins', '5', 'chest', 'anna', 100, 0);
        SELECT ledger_debit('anna', 'coins', 30, 'order-1');
        SELECT grant_entitlement('anna', 'pro', NULL, 'an apology', 'support');
        INSERT INTO account_links (kind, key, user_id)
        VALUES ('account_token', '7e3f2a10-52c0-4f53-9ab5-1fd1c1b0c6aa', 'anna');
        """
}
