import Foundation
import Simulation
import Postgres
import TestSupport
import Testing

/// Whatever goes wrong while a statement runs ends it with a typed error, and in time.
@Suite(.timeLimit(.minutes(10))) struct InterruptionTests {
    private let options: PostgresOptions
    private let connection: PostgresConnection
    private let observer: PostgresConnection

    init() async throws {
        options = try await PostgresServer.shared.emptyDatabase()
        connection = try await PostgresConnection.connect(options)
        observer = try await PostgresConnection.connect(options)
    }

    private func runningStatements() async throws -> Int64 {
        try await observer.query(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND query LIKE '%pg_sleep%' AND state = 'active'
                AND pid <> pg_backend_pid()
            """)[0].int8(0)
    }

    @Test func `a missed deadline cancels the statement and closes the connection`() async throws {
        let error = await #expect(throws: PostgresError.self) {
            try await connection.query("SELECT pg_sleep(60)", deadline: .milliseconds(200))
        }
        #expect(error?.code == .deadlineExceeded)
        #expect(error?.fault == .infrastructure)
        #expect(await !connection.isUsable())
        try await eventually { try await runningStatements() == 0 }
        let next = await #expect(throws: PostgresError.self) { try await connection.query("SELECT 1") }
        #expect(next?.code == .connectionClosed)
    }

    @Test func `a call may take longer than the others, and the server knows`() async throws {
        var options = options
        options.statementDeadline = .milliseconds(100)
        let own = try await PostgresConnection.connect(options)
        let sleep = "SELECT pg_sleep(5.5)"
        _ = try await own.query(sleep, deadline: .seconds(30))
        try await own.execute(script: sleep, deadline: .seconds(30))
        let shown = try await own.transaction { transaction in
            _ = try await transaction.query("SELECT 1", deadline: .seconds(30))
            return try await transaction.query("SHOW statement_timeout")[0].text(0)
        }
        #expect(shown == "35s")
        #expect(try await own.query("SHOW statement_timeout")[0].text(0) == "5100ms")
        await own.close()
    }

    @Test func `a cancelled task cancels its statement`() async throws {
        let task = Task { [connection] in try await connection.query("SELECT pg_sleep(60)") }
        try await eventually { try await runningStatements() == 1 }
        task.cancel()
        let error = await #expect(throws: PostgresError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        try await eventually { try await runningStatements() == 0 }
    }

    @Test func `a task cancelled before it starts leaves the connection alone`() async throws {
        let task = Task { [connection] in
            await eventually { Task.isCancelled }
            return try await connection.query("SELECT 1")
        }
        task.cancel()
        let error = await #expect(throws: PostgresError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(await connection.isUsable())
    }

    @Test func `a terminated backend is a lost connection with the server's reason`() async throws {
        let id = try await connection.query("SELECT pg_backend_pid()")[0].int8(0)
        let task = Task { [connection] in try await connection.query("SELECT pg_sleep(60)") }
        try await eventually { try await runningStatements() == 1 }
        _ = try await observer.query("SELECT pg_terminate_backend($1::int4)", [.text("\(id)")])
        let error = await #expect(throws: PostgresError.self) { try await task.value }
        #expect(error?.code == .connectionLost)
        #expect(error?.sqlState == SQLState("57P01"))
        #expect(error?.isRetriable == true)
    }

    @Test func `a statement that another session cancels leaves the connection`() async throws {
        let id = try await connection.query("SELECT pg_backend_pid()")[0].int8(0)
        let task = Task { [connection] in try await connection.query("SELECT pg_sleep(60)") }
        try await eventually { try await runningStatements() == 1 }
        _ = try await observer.query("SELECT pg_cancel_backend($1::int4)", [.text("\(id)")])
        let error = await #expect(throws: PostgresError.self) { try await task.value }
        #expect(error?.code == .server)
        #expect(error?.sqlState == .queryCanceled)
        #expect(await connection.isUsable())
    }

    @Test func `a server that stops answering misses the deadline`() async throws {
        let id = try await connection.query("SELECT pg_backend_pid()")[0].int8(0)
        kill(pid_t(id), SIGSTOP)
        defer { kill(pid_t(id), SIGCONT) }
        let error = await #expect(throws: PostgresError.self) {
            try await connection.query("SELECT 1", deadline: .milliseconds(200))
        }
        #expect(error?.code == .deadlineExceeded)
    }

    @Test func `a host that accepts and never answers cannot be connected to in time`() async throws {
        let silent = try ScriptedServer(.silence)
        defer { silent.stop() }
        let error = await #expect(throws: PostgresError.self) {
            try await PostgresConnection.connect(
                PostgresOptions(
                    connectionString: "postgresql://u:p@127.0.0.1:\(silent.port)/d", applicationName: "tests"),
                deadline: .milliseconds(200))
        }
        #expect(error?.code == .connectionFailed)
        #expect(error?.fault == .infrastructure)
    }

    @Test(arguments: [PrivatePostgres.StopMode.fast, .immediate])
    func `a server stopped in the middle is a lost connection`(mode: PrivatePostgres.StopMode) async throws {
        let server = try await PrivatePostgres.start()
        let own = server.options("tests")
        let connection = try await PostgresConnection.connect(own)
        let task = Task { try await connection.query("SELECT pg_sleep(60)") }
        let observer = try await PostgresConnection.connect(own)
        try await eventually {
            let rows = try await observer.query(
                "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)'")
            return rows[0].int8(0) == 1
        }
        try await server.stop(mode)
        let error = await #expect(throws: PostgresError.self) { try await task.value }
        #expect(error?.code == .connectionLost)
        let refused = await #expect(throws: PostgresError.self) { try await PostgresConnection.connect(own) }
        #expect(refused?.code == .connectionFailed)
        #expect(refused?.fault == .infrastructure)
        try await server.remove()
    }
}
