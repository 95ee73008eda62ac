import Store
import Postgres
import TestSupport
import Testing

/// What becomes of purchases with items that were recorded before these credited anything.
@Suite struct ItemMigrationTests {
    @Test func `what was refunded of an item in part is found in the signed payload`()
        async throws
    {
        let options = try await PostgresServer.shared.emptyDatabase()
        let connection = try await PostgresConnection.connect(options)
        let migrations = try PostgresServer.migrations.migrations()
        _ = try await Migrator(Array(migrations.prefix(12))).run(on: connection)
        try await connection.execute(
            script: """
                INSERT INTO transactions (environment, bundle_id, transaction_id, track,
                    signed_date_ms, content_hash, trust, original_transaction_id, product_id,
                    purchase_date_ms, is_family_shared, items)
                VALUES
                    ('Production', 'app', '1', 'jws', 1, sha256('a'), 'apple', '1', 'p', 1, false,
                        '[{"SKU":"coins"}]'),
                    ('Production', 'app', '2', 'jws', 1, sha256('b'), 'apple', '2', 'p', 1, false,
                        NULL);
                INSERT INTO revisions (kind, environment, bundle_id, id, trust, track,
                    content_hash, signed_date_ms, payload, source_topic, source_partition,
                    source_offset, source_index)
                VALUES ('transaction', 'Production', 'app', '1', '', 'jws', sha256('a'), 1,
                    '{"advancedCommerceInfo":{"items":[{"SKU":"coins","price":990}]}}', 'raw', 0, 0,
                    0);
                UPDATE catalog_projection SET version = 4;
                """
        )
        _ = try await Migrator(Array(migrations.prefix(13))).run(on: connection)
        let items = try await connection.query(
            "SELECT items::text FROM transactions ORDER BY transaction_id"
        )
        #expect(items.map { $0.optionalText(0) } == [#"[{"SKU":"coins","price":990}]"#, nil])
        // All purchases are looked at once more.
        let version = try await connection.query("SELECT version::int8 FROM catalog_projection")
        #expect(version[0].int8(0) == 0)
    }
}
