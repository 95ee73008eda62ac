package import Postgres

/// Migrates a database's schema to the newest version; there are no downgrades.
///
/// The migrator may run repeatedly and in several processes at once: each migration is a separate
/// transaction under an advisory lock, and an applied migration is only compared with its file. A
/// failed migration is rolled back; earlier ones stay applied.
package struct Migrator: Sendable {
    private let migrations: [Migration]

    package init(_ migrations: [Migration]) { self.migrations = migrations }

    /// - Parameter deadline: the maximum duration of one migration, including the wait for another process.
    package func run(on connection: PostgresConnection, deadline: Duration = .seconds(600)) async throws
        -> MigrationReport
    {
        try await checkServer(connection)
        var report = MigrationReport()
        for migration in migrations {
            let isNew = try await connection.transaction(deadline: deadline) { transaction in
                try await prepare(transaction, deadline)
                return try await apply(migration, on: transaction, deadline)
            }
            report.version = migration.version
            if isNew { report.applied.append(migration) }
        }
        return report
    }

    /// Waits for other migrators, and creates the table of applied migrations.
    private func prepare(_ transaction: PostgresConnection, _ deadline: Duration) async throws {
        _ = try await transaction.query(
            "SELECT pg_advisory_xact_lock(hashtextextended('schema_migrations', 0))", deadline: deadline)
        let isThere = try await transaction.query("SELECT to_regclass('schema_migrations') IS NOT NULL")[0].bool(0)
        if !isThere { try await transaction.execute(script: Self.memory) }
        let newest = try await transaction.query("SELECT max(version) FROM schema_migrations")
        if let version = newest[0].optionalInt8(0), version > Int64(migrations.count) {
            throw MigrationError(
                .databaseNewer,
                "the database has schema version \(version), this program knows"
                    + " \(migrations.count) at most; run a newer one")
        }
    }

    /// - Returns: false if the migration was applied before, with the same text.
    private func apply(_ migration: Migration, on transaction: PostgresConnection, _ deadline: Duration) async throws
        -> Bool
    {
        let identity: [PostgresValue] = [.int8(Int64(migration.version)), .bytea(Array(migration.script.utf8))]
        let known = try await transaction.query(
            "SELECT content_sha256 = sha256($2) FROM schema_migrations WHERE version = $1", identity)
        if let isSame = known.first?.bool(0) {
            if isSame { return false }
            throw MigrationError(
                .changedAfterApplied,
                "migration \(migration.version) (\(migration.name)) was applied with another text;"
                    + " put the file back and write a new migration for the change")
        }
        try await transaction.execute(script: migration.script, deadline: deadline)
        _ = try await transaction.query(
            """
            INSERT INTO schema_migrations (version, content_sha256, name)
            VALUES ($1, sha256($2), $3)
            """, identity + [.text(migration.name)])
        return true
    }

    private func checkServer(_ connection: PostgresConnection) async throws {
        let version = try await connection.query("SELECT current_setting('server_version_num')::int8")[0].int8(0)
        if version < Self.serverVersionMin {
            throw MigrationError(
                .serverTooOld, "the server is PostgreSQL \(version / 10_000); this schema needs 15 or later")
        }
    }

    private static let serverVersionMin: Int64 = 150_000

    private static let memory = """
        CREATE TABLE schema_migrations (
            version bigint PRIMARY KEY,
            name text NOT NULL,
            content_sha256 bytea NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now(),
            applied_by text NOT NULL DEFAULT current_user
        );
        COMMENT ON TABLE schema_migrations IS
            'The migrations that were applied, with the hash of their text. Written by '
            '`pipeline migrate`, never deleted.'
        """
}
