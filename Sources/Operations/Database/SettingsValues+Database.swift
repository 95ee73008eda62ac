import Store
package import Postgres
import Settings

extension SettingsValues {
    /// Lends a connection to the database and closes it afterwards, however `body` ends.
    func withDatabase<T>(
        _ body: (PostgresConnection) async throws -> T
    ) async throws -> T {
        let options = DatabaseSettings.options(self, applicationName: PipelineTool.name)
        return try await PostgresConnection.lend(options, body)
    }
}

extension PostgresConnection {
    /// Connects, lends the connection to `body` and closes it afterwards, however that ends.
    package static func lend<T>(
        _ options: PostgresOptions,
        _ body: (PostgresConnection) async throws -> T
    ) async throws -> T {
        let connection = try await connect(options)
        do {
            let value = try await body(connection)
            await connection.close()
            return value
        } catch {
            await connection.close()
            throw error
        }
    }
}
