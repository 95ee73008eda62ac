package import Postgres

/// Creates and drops whole databases, for programs that work in one of their own.
package enum DatabaseAdministration {
    /// - Parameter name: in lower case, without a quote.
    package static func create(_ name: String, on connection: PostgresConnection) async throws {
        try await connection.execute(script: "CREATE DATABASE \(name)")
    }

    /// Drops the database and ends its sessions.
    ///
    /// - Parameter name: in lower case, without a quote.
    package static func drop(_ name: String, on connection: PostgresConnection) async throws {
        try await connection.execute(script: "DROP DATABASE \(name) WITH (FORCE)")
    }
}
