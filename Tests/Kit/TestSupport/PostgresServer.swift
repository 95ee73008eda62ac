package import Store
import Foundation
package import Simulation
package import Postgres

/// The PostgreSQL server of this test run: started by the first test that asks, shared by all,
/// gone with the run. Tests that stop or restart a server start one of their own.
package actor PostgresServer {
    package static let shared = PostgresServer()

    private var starting: Task<PrivatePostgres, any Error>?
    private var migrating: Task<String, any Error>?
    private var administrator: PostgresClient?
    private var databaseCount = 0

    private init() {}

    package func server() async throws -> PrivatePostgres {
        let task = starting ?? Task { try await PrivatePostgres.start() }
        starting = task
        return try await task.value
    }

    /// Makes an empty database, for one test alone.
    ///
    /// - Returns: how to connect to it.
    package func emptyDatabase() async throws -> PostgresOptions { try await database(copiedFrom: "template1") }

    /// Makes a database with the whole schema in it and no rows, for one test alone.
    package func migratedDatabase() async throws -> PostgresOptions {
        let task = migrating ?? Task { try await migratedTemplate() }
        migrating = task
        return try await database(copiedFrom: task.value)
    }

    /// The product's own.
    package static let migrations = MigrationFolder(
        path: URL(filePath: #filePath).appending(path: "../../../../schemas/postgres").standardizedFileURL.path)

    private func migratedTemplate() async throws -> String {
        let options = try await emptyDatabase()
        let connection = try await PostgresConnection.connect(options)
        _ = try await Migrator(Self.migrations.migrations()).run(on: connection)
        let name = try await connection.query("SELECT current_database()")[0].text(0)
        // A database is only copied while nobody else is connected to it.
        await connection.close()
        return name
    }

    private func database(copiedFrom template: String) async throws -> PostgresOptions {
        databaseCount += 1
        let name = "test\(databaseCount)"
        let server = try await server()
        try await administrator(server).withConnection { connection in
            try await connection.execute(script: "CREATE DATABASE \(name) TEMPLATE \(template)")
        }
        return Self.options(server.connectionString(database: name))
    }

    /// The client of the one connection that creates all databases.
    ///
    /// A run starts its tests at once, and a hundred copies at a time would slow down the running
    /// tests.
    private func administrator(_ server: PrivatePostgres) -> PostgresClient {
        if let administrator { return administrator }
        var options = Self.options(server.connectionString())
        // All tests of a run may wait for their databases at once.
        options.connectDeadline = .seconds(900)
        let client = PostgresClient(options, connectionsMax: 1)
        administrator = client
        return client
    }

    /// The deadlines are those of a machine that does much else.
    private static func options(_ connectionString: String) -> PostgresOptions {
        var options = PostgresOptions(connectionString: connectionString, applicationName: "tests")
        options.connectDeadline = .seconds(60)
        options.statementDeadline = .seconds(60)
        options.silenceMax = .seconds(60)
        return options
    }
}
