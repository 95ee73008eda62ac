package import Postgres
import Release

/// The schema version that the programs of this package read and write.
package enum SchemaVersion {
    /// The number of the last migration in `schemas/postgres`.
    package static let required = Int64(Release.schema)

    /// The version of the database; 0 if it was never migrated.
    ///
    /// A worker waits while this is below `required`, until the operator runs `pipeline migrate`.
    package static func current(_ client: PostgresClient) async throws -> Int64 {
        do {
            let rows = try await client.query("SELECT max(version) FROM schema_migrations")
            return rows[0].optionalInt8(0) ?? 0
        } catch let error as PostgresError where error.sqlState == .undefinedTable { return 0 }
    }

    /// Whether an error shows that the database's schema is newer than this program and incompatible.
    ///
    /// A newer, compatible schema is accepted: operators migrate before they update the workers.
    package static func isOutgrown(_ client: PostgresClient, after error: any Error) async -> Bool {
        if error is SchemaNewer { return true }
        guard let error = error as? PostgresError, error.isSchemaMisfit else { return false }
        // The result is also false if the database does not answer.
        return await (try? current(client)).map { $0 > required } ?? false
    }

    /// Throws `SchemaNewer` if the database's schema is newer than this program.
    ///
    /// Its refusals may then be the program's fault instead of a record's.
    package static func requireKnown(_ client: PostgresClient) async throws {
        let version = try await current(client)
        guard version <= required else { throw SchemaNewer(version: version) }
    }

    /// Throws if the database does not answer, or its schema is older than required.
    package static func require(_ client: PostgresClient) async throws {
        let version = try await current(client)
        guard version >= required else {
            throw MigrationError(
                .databaseOlder,
                "the database has schema version \(version), this program needs \(required);"
                    + " run `pipeline migrate`")
        }
    }
}

/// An error for refused values if the database's schema is newer than this program.
package struct SchemaNewer: Error, CustomStringConvertible {
    package let version: Int64

    package var description: String {
        "the database has schema version \(version), this program knows"
            + " \(SchemaVersion.required) at most: update this worker"
    }
}

extension PostgresError {
    /// Whether a statement does not match the schema (SQLSTATE class 42), or its result has changed (0A000).
    fileprivate var isSchemaMisfit: Bool {
        guard let sqlState, sqlState != .insufficientPrivilege else { return false }
        return sqlState.errorClass == "42" || sqlState == SQLState("0A000")
    }
}
