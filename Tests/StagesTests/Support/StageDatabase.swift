import Store
import Postgres
import TestSupport

/// A database of its own for one test, with the product's tables.
enum StageDatabase {
    static func make() async throws -> PostgresClient { PostgresClient(try await options(), connectionsMax: 8) }

    /// The options with which the workers connect.
    static func options() async throws -> PostgresOptions {
        var options = try await PostgresServer.shared.migratedDatabase()
        options.sessionSettings = DatabaseSettings.pointLookups
        return options
    }
}
