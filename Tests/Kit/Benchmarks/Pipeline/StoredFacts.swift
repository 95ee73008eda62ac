import Operations
import Postgres

/// Fills the tables as if so many transactions had gone through long ago, and reads when rows were
/// committed: what no other program does.
enum StoredFacts {
    /// Four renewals to a subscription, as in `BenchTransaction`, with IDs of their own.
    static func insert(_ count: Int, into database: PostgresOptions) async throws {
        try await patiently(database) { connection in
            for statement in statements {
                _ = try await connection.query(statement, [.int8(Int64(count))])
            }
            // The rows are those of the catalog in force: else the last stage would go through them
            // all again, beside what is measured.
            try await connection.execute(
                script: """
                    UPDATE catalog_projection
                    SET version = (SELECT max(version) FROM catalog_versions)
                    """
            )
        }
        try await settle(database)
    }

    /// Links the account tokens of `BenchTransaction` to users, as if long ago: no worker is told.
    static func link(_ purchases: [Range<Int>], in database: PostgresOptions) async throws {
        try await patiently(database) { connection in
            try await connection.execute(script: "ALTER TABLE account_links DISABLE TRIGGER USER")
            for range in purchases {
                _ = try await connection.query(
                    """
                    INSERT INTO account_links (kind, key, user_id)
                    SELECT 'account_token',
                        '7e3fb20b-4cdb-47cc-936d-' || lpad(to_hex(i), 12, '0'), 'user-' || i
                    FROM generate_series($1::bigint, $2) AS i
                    """,
                    [.int8(Int64(range.lowerBound)), .int8(Int64(range.upperBound - 1))]
                )
            }
            try await connection.execute(script: "ALTER TABLE account_links ENABLE TRIGGER USER")
        }
        try await settle(database)
    }

    /// Commits one row to disk, in one round trip; `prepareCommits` comes before.
    static func commitOne(on connection: PostgresConnection) async throws {
        _ = try await connection.query("INSERT INTO bench_commits (number) VALUES (1)")
    }

    static func prepareCommits(on connection: PostgresConnection) async throws {
        try await connection.execute(
            script: "CREATE TABLE IF NOT EXISTS bench_commits (number bigint)"
        )
    }

    /// When the contents of IDs from one on were committed, in UNIX microseconds; nil if the
    /// server does not keep that.
    static func commits(
        from id: String,
        on connection: PostgresConnection
    ) async throws -> [(id: String, microseconds: Int64)]? {
        let isTracked = try await connection.query(
            "SELECT current_setting('track_commit_timestamp') = 'on'"
        )[0].bool(0)
        guard isTracked else { return nil }
        let rows = try await connection.query(
            """
            SELECT id, (extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000000)::int8
            FROM revisions WHERE id >= $1 AND length(id) = length($1)
            """,
            [.text(id)]
        )
        return rows.map { ($0.text(0), $0.int8(1)) }
    }

    /// Gathers statistics and writes everything out, so that what is measured next begins alike.
    static func settle(_ database: PostgresOptions) async throws {
        try await patiently(database) { connection in
            for statement in settling {
                // As a script: nothing may stand before VACUUM, nor around it.
                try await connection.execute(script: statement)
            }
        }
    }

    private static func patiently(
        _ database: PostgresOptions,
        _ body: (PostgresConnection) async throws -> Void
    ) async throws {
        var options = database
        options.statementDeadline = .seconds(3_600)
        try await PostgresConnection.lend(options, body)
    }

    /// VACUUM too, so that autovacuum does not come while something is measured.
    private static let settling = ["VACUUM (ANALYZE)", "CHECKPOINT"]

    private static let id = "(1000000000000000 + i)::text"
    private static let purchase = "(1000000000000000 + i - i % 4)::text"
    private static let user = "'stored-' || (i / 4)"
    private static let hash = "sha256(i::text::bytea)"
    private static let signed = "1700000000000 + i"
    private static let purchased = "1700000000000 + (i % 4) * 2592000000"
    private static let expires = "1700000000000 + (i % 4 + 1) * 2592000000"
    private static let series = "FROM generate_series(0, $1 - 1) AS i"
    private static let purchases = "FROM generate_series(0, $1 - 1, 4) AS i"
    private static let app = "'Production', 'com.example.pro'"
    private static let product = "'com.example.pro.monthly'"
    private static let type = "'Auto-Renewable Subscription'"

    private static let statements = [
        """
        INSERT INTO transactions (environment, bundle_id, transaction_id, track, signed_date_ms,
            content_hash, trust, original_transaction_id, product_id, purchase_date_ms,
            product_type, quantity, expires_date_ms, ownership_type, account_token)
        SELECT \(app), \(id), 'jws', \(signed), \(hash), 'apple', \(purchase), \(product),
            \(purchased), \(type), 1, \(expires), 'PURCHASED', \(user) \(series)
        """,
        """
        INSERT INTO revisions (kind, environment, bundle_id, id, trust, track, content_hash,
            signed_date_ms, payload, source_topic, source_partition, source_offset, source_index)
        SELECT 'transaction', \(app), \(id), '', 'jws', \(hash), \(signed),
            json_build_object('transactionId', \(id), 'filler', repeat('x', 1000)),
            'stored', 0, i, 0 \(series)
        """,
        """
        INSERT INTO ownership_facts (environment, bundle_id, original_transaction_id,
            transaction_id, track, signed_date_ms, content_hash, trust, purchase_date_ms,
            product_type, expires_date_ms, account_token)
        SELECT \(app), \(purchase), \(id), 'jws', \(signed), \(hash), 'apple', \(purchased),
            \(type), \(expires), \(user) \(series)
        """,
        """
        INSERT INTO dedupe_revisions (kind, environment, bundle_id, id, trust, track,
            signed_date_ms, content_hash, original_transaction_id, product_id,
            purchase_date_ms, product_type, quantity)
        SELECT 'transaction', \(app), \(id), '', 'jws', \(signed), \(hash), \(purchase),
            \(product), \(purchased), \(type), 1 \(series)
        """,
        """
        INSERT INTO owners (environment, bundle_id, original_transaction_id, user_id, rule)
        SELECT \(app), \(purchase), \(user), 'account_token' \(purchases)
        """,
        """
        INSERT INTO entitlements (environment, bundle_id, original_transaction_id,
            entitlement_key, user_id, periods)
        SELECT \(app), \(purchase), 'pro', \(user), tstzmultirange(tstzrange(
            timestamptz_from_ms(1700000000000), timestamptz_from_ms(1710368000000)))
        \(purchases)
        """,
        "INSERT INTO user_versions (user_id, version) SELECT \(user), 1 \(purchases)",
    ]
}
