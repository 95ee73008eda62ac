import Foundation
import Simulation
import Postgres
import TestSupport
import Testing

@Suite(.hopeless) struct PrivatePostgresTests {
    private func options(_ server: PrivatePostgres) -> PostgresOptions {
        PostgresOptions(connectionString: server.connectionString(), applicationName: "tests")
    }

    @Test(arguments: [PrivatePostgres.StopMode.fast, .immediate]) func `a restart keeps port and committed rows`(
        mode: PrivatePostgres.StopMode
    ) async throws {
        let server = try await PrivatePostgres.start()
        let before = try await PostgresConnection.connect(options(server))
        try await before.execute(script: "CREATE TABLE facts AS SELECT 1::int8 AS id")
        try await server.stop(mode)
        #expect(await server.processID == nil)
        try await server.start()
        let after = try await PostgresConnection.connect(options(server))
        #expect(try await after.query("SELECT id FROM facts")[0].int8(0) == 1)
        try await server.remove()
    }

    @Test func `the port of a stopped server is given to nobody else`() async throws {
        let server = try await PrivatePostgres.start()
        try await server.stop()
        // Many times the number of ports that Linux gives out.
        for _ in 0..<100_000 { #expect(try LoopbackPort.free() != server.port) }
        try await server.start()
        try await server.remove()
    }

    @Test func `removal ends the server and deletes its folder`() async throws {
        let server = try await PrivatePostgres.start()
        let connection = try await PostgresConnection.connect(options(server))
        let data = try await connection.query("SHOW data_directory")[0].text(0)
        let processID = try #require(await server.processID)
        #expect(FileManager.default.fileExists(atPath: data))
        try await server.remove()
        #expect(!FileManager.default.fileExists(atPath: data))
        #expect(kill(processID, 0) != 0)
    }

    @Test func `settings are handed to the server`() async throws {
        var configuration = PrivatePostgres.Configuration()
        configuration.settings = ["shared_buffers": "16MB"]
        configuration.isDurable = true
        let server = try await PrivatePostgres.start(configuration)
        let connection = try await PostgresConnection.connect(options(server))
        #expect(try await connection.query("SHOW shared_buffers")[0].text(0) == "16MB")
        #expect(try await connection.query("SHOW fsync")[0].text(0) == "on")
        try await server.remove()
    }

    @Test func `a setting that the server refuses is reported with its reason`() async throws {
        var configuration = PrivatePostgres.Configuration()
        configuration.settings = ["shared_buffers": "much"]
        let error = await #expect(throws: LocalServerError.self) { try await PrivatePostgres.start(configuration) }
        #expect(error?.message.contains("shared_buffers") == true)
    }

    @Test func `a connection without the password is refused`() async throws {
        let server = try await PostgresServer.shared.server()
        let error = await #expect(throws: PostgresError.self) {
            try await PostgresConnection.connect(
                PostgresOptions(
                    connectionString: "postgresql://postgres@127.0.0.1:\(server.port)/postgres",
                    applicationName: "tests"))
        }
        #expect(error?.fault == .infrastructure || error?.fault == .operator)
    }
}
