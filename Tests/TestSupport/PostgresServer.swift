package import LocalServers
package import Postgres

/// The PostgreSQL server of this test run: started by the first test that asks, shared by all,
/// gone with the run. Tests that stop or restart a server start one of their own.
package actor PostgresServer {
    package static let shared = PostgresServer()

    private var starting: Task<PrivatePostgres, any Error>?
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
    package func emptyDatabase() async throws -> PostgresOptions {
        databaseCount += 1
        let name = "test\(databaseCount)"
        let server = try await server()
        let administrator = try await PostgresConnection.connect(
            Self.options(server.connectionString())
        )
        try await administrator.execute(script: "CREATE DATABASE \(name)")
        await administrator.close()
        return Self.options(server.connectionString(database: name))
    }

    private static func options(_ connectionString: String) -> PostgresOptions {
        PostgresOptions(connectionString: connectionString, applicationName: "tests")
    }
}
