package import Postgres

/// Creates and drops whole databases, for programs that use a separate one.
package enum DatabaseAdministration {
    /// - Parameter name: the database's name, in lower case and without quotes.
    package static func create(_ name: String, on connection: PostgresConnection) async throws {
        try await connection.execute(script: "CREATE DATABASE \(name)")
    }

    /// Drops the database and ends its sessions.
    ///
    /// - Parameter name: the database's name, in lower case and without quotes.
    package static func drop(_ name: String, on connection: PostgresConnection) async throws {
        try await connection.execute(script: "DROP DATABASE \(name) WITH (FORCE)")
    }
}
