package import Postgres

/// The schema version that the programs of this package read and write.
package enum SchemaVersion {
    /// The number of the last migration in `schemas/postgres`.
    package static let required: Int64 = 21

    /// The version that the database has; 0 where it was never migrated.
    ///
    /// A worker waits while this is below `required`, until the operator runs `pipeline migrate`.
    package static func current(_ client: PostgresClient) async throws -> Int64 {
        do {
            let rows = try await client.query("SELECT max(version) FROM schema_migrations")
            return rows[0].optionalInt8(0) ?? 0
        } catch let error as PostgresError where error.sqlState == .undefinedTable {
            return 0
        }
    }

    /// Throws while the database does not answer or was not migrated far enough.
    package static func require(_ client: PostgresClient) async throws {
        let version = try await current(client)
        guard version >= required else {
            throw MigrationError(
                .databaseOlder,
                "the database has schema version \(version), this program needs \(required);"
                    + " run `pipeline migrate`"
            )
        }
    }
}
