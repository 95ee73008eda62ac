package import Postgres

/// Making and dropping whole databases, for those who work in one of their own.
package enum DatabaseAdministration {
    /// - Parameter name: in lower case, without a quote.
    package static func create(_ name: String, on connection: PostgresConnection) async throws {
        try await connection.execute(script: "CREATE DATABASE \(name)")
    }

    /// Ends the sessions that work in it.
    ///
    /// - Parameter name: in lower case, without a quote.
    package static func drop(_ name: String, on connection: PostgresConnection) async throws {
        try await connection.execute(script: "DROP DATABASE \(name) WITH (FORCE)")
    }
}
