import Store
import Demonstration
import Simulation
import Operations
import Postgres
import TestSupport

/// A database of one test, with the tables, the traffic's catalog and its links.
enum TestDatabase {
    /// - Parameter server: nil for the one of this run.
    static func make(
        for traffic: DemoTraffic,
        on server: PrivatePostgres?,
        named name: String
    ) async throws -> PostgresOptions {
        guard let server else {
            let options = try await PostgresServer.shared.migratedDatabase()
            try await fill(options, traffic, isMigrated: true)
            return options
        }
        var options = PostgresOptions(
            connectionString: server.connectionString(),
            applicationName: "tests"
        )
        if name != "postgres" {
            try await PostgresConnection.lend(options) { connection in
                try await DatabaseAdministration.create(name, on: connection)
            }
            options.connectionString = server.connectionString(database: name)
        }
        try await fill(options, traffic, isMigrated: false)
        return options
    }

    private static func fill(
        _ options: PostgresOptions,
        _ traffic: DemoTraffic,
        isMigrated: Bool
    ) async throws {
        let connection = try await PostgresConnection.connect(options)
        do {
            if !isMigrated {
                _ = try await Migrator(PostgresServer.migrations.migrations()).run(on: connection)
            }
            _ = try await CatalogTable.apply(Array(traffic.catalog.utf8), on: connection)
            _ = try await AccountLinkTable.add(traffic.accountLinks, on: connection)
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
    }
}
