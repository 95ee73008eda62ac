import Operations
import Postgres

/// Links the users of the measured traffic, and reads when rows were committed: what no other
/// program does.
enum BenchDatabase {
    /// Links the account tokens of `BenchTransaction` to users, as if long ago: no worker is told.
    static func link(_ users: [Range<Int>], in database: PostgresOptions) async throws {
        try await patiently(database) { connection in
            try await connection.execute(script: "ALTER TABLE account_links DISABLE TRIGGER USER")
            for range in users {
                _ = try await connection.query(
                    """
                    INSERT INTO account_links (kind, key, user_id)
                    SELECT 'account_token',
                        '7e3fb20b-4cdb-47cc-936d-' || lpad(to_hex(i), 12, '0'), 'user-' || i
                    FROM generate_series($1::bigint, $2) AS i
                    """, [.int8(Int64(range.lowerBound)), .int8(Int64(range.upperBound - 1))])
            }
            try await connection.execute(script: "ALTER TABLE account_links ENABLE TRIGGER USER")
        }
        try await settle(database)
    }

    /// The times at which the contents of IDs from one on were committed, in UNIX microseconds.
    ///
    /// `nil` if the server does not record them.
    static func commits(from id: String, on connection: PostgresConnection) async throws -> [(
        id: String, microseconds: Int64
    )]? {
        let isTracked = try await connection.query("SELECT current_setting('track_commit_timestamp') = 'on'")[0].bool(0)
        guard isTracked else { return nil }
        let rows = try await connection.query(
            """
            SELECT id, (extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000000)::int8
            FROM revisions WHERE id >= $1 AND length(id) = length($1)
            """, [.text(id)])
        return rows.map { ($0.text(0), $0.int8(1)) }
    }

    /// Gathers statistics and writes everything out, so that what is measured next begins alike.
    static func settle(_ database: PostgresOptions) async throws {
        try await patiently(database) { connection in
            // Including VACUUM, so that autovacuum does not run during a measurement.
            for statement in ["VACUUM (ANALYZE)", "CHECKPOINT"] {
                // As a script: nothing may stand before VACUUM, nor around it.
                try await connection.execute(script: statement)
            }
        }
    }

    private static func patiently(_ database: PostgresOptions, _ body: (PostgresConnection) async throws -> Void)
        async throws
    {
        var options = database
        options.statementDeadline = .seconds(3_600)
        try await PostgresConnection.lend(options, body)
    }
}
