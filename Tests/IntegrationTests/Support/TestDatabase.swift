import Store
import Demonstration
import Simulation
import Operations
import Postgres
import TestSupport

/// A database of one test, with the tables, the traffic's catalog and its links.
enum TestDatabase {
    /// - Parameters:
    ///   - server: nil for the one of this run.
    ///   - schemaVersion: nil for the newest.
    static func make(
        for traffic: DemoTraffic, on server: PrivatePostgres?, named name: String, schemaVersion: Int? = nil
    ) async throws -> PostgresOptions {
        guard let server else {
            let options =
                schemaVersion == nil
                ? try await PostgresServer.shared.migratedDatabase() : try await PostgresServer.shared.emptyDatabase()
            try await fill(options, traffic, schemaVersion)
            return options
        }
        var options = server.options("tests")
        if name != "postgres" {
            try await PostgresConnection.lend(options) { connection in
                try await DatabaseAdministration.create(name, on: connection)
            }
            options.connectionString = server.connectionString(database: name)
        }
        try await fill(options, traffic, schemaVersion)
        return options
    }

    private static func fill(_ options: PostgresOptions, _ traffic: DemoTraffic, _ schemaVersion: Int?) async throws {
        let migrations = try PostgresServer.migrations.migrations()
        try await PostgresConnection.lend(options) { connection in
            // Applied ones are only compared.
            _ = try await Migrator(Array(migrations.prefix(schemaVersion ?? migrations.count))).run(on: connection)
            _ = try await CatalogTable.apply(json: Array(traffic.catalog.utf8), on: connection)
            _ = try await AccountLinkTable.put(traffic.accountLinks, on: connection)
        }
    }
}
