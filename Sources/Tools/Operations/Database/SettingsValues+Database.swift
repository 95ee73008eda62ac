import Platform
package import Postgres
import Settings
import Store

extension SettingsValues {
    /// Runs `body` with a connection to the database, and closes it even on an error.
    func withDatabase<T>(_ body: (PostgresConnection) async throws -> T) async throws -> T {
        let options = DatabaseSettings.options(self, applicationName: PipelineTool.name)
        return try await PostgresConnection.lend(options, body)
    }

    /// Runs `body` with a client of the database, and closes it even on an error.
    func withDatabaseClient<T>(_ body: (PostgresClient) async throws -> T) async throws -> T {
        let client = DatabaseSettings.client(self, applicationName: PipelineTool.name)
        return try await closing {
            await client.close()
        } after: {
            try await body(client)
        }
    }
}

extension PostgresConnection {
    /// Runs `body` with a new connection, and closes it even on an error.
    package static func lend<T>(_ options: PostgresOptions, _ body: (PostgresConnection) async throws -> T) async throws
        -> T
    {
        let connection = try await connect(options)
        return try await closing {
            await connection.close()
        } after: {
            try await body(connection)
        }
    }
}
