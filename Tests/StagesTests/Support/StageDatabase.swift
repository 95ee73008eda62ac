import Database
import Postgres
import TestSupport

/// A database of its own for one test, with the product's tables.
enum StageDatabase {
    static func make() async throws -> PostgresClient {
        var options = try await PostgresServer.shared.migratedDatabase()
        options.sessionSettings = DatabaseSettings.pointLookups
        return PostgresClient(options, connectionsMax: 8)
    }
}
