import Postgres
import TestSupport

/// A database of its own for one test, with the product's tables.
enum StageDatabase {
    static func make() async throws -> PostgresClient {
        PostgresClient(try await PostgresServer.shared.migratedDatabase(), connectionsMax: 8)
    }
}
