import Simulation
import Postgres
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct ClientTests {
    @Test func `many tasks share a few connections`() async throws {
        let options = try await PostgresServer.shared.emptyDatabase()
        let client = PostgresClient(options, connectionsMax: 3)
        let ids = try await withThrowingTaskGroup(of: Int64.self) { group in
            for _ in 0..<40 {
                group.addTask { try await client.query("SELECT pg_backend_pid(), pg_sleep(0.005)")[0].int8(0) }
            }
            return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
        }
        #expect((1...3).contains(ids.count))
        await client.close()
    }

    @Test func `a lease that comes too late says that all are in use`() async throws {
        var options = try await PostgresServer.shared.emptyDatabase()
        options.connectDeadline = .seconds(3)
        let client = PostgresClient(options, connectionsMax: 1)
        try await client.withConnection { _ in
            let error = await #expect(throws: PostgresError.self) { try await client.query("SELECT 1") }
            #expect(error?.code == .noConnectionFree)
        }
        #expect(try await client.query("SELECT 1::int8")[0].int8(0) == 1)
    }

    @Test func `a restarted server is found again`() async throws {
        let server = try await PrivatePostgres.start()
        let client = PostgresClient(server.options("tests"))
        #expect(try await client.query("SELECT 1::int8")[0].int8(0) == 1)
        try await server.stop(.immediate)
        async let later = client.query("SELECT 2::int8")
        try await server.start()
        #expect(try await later[0].int8(0) == 2)
        try await server.remove()
    }

    @Test func `a server that stays away is said within the deadline`() async throws {
        var options = PostgresOptions(connectionString: "postgresql://127.0.0.1:1/x", applicationName: "tests")
        options.connectDeadline = .milliseconds(300)
        let client = PostgresClient(options)
        let error = await #expect(throws: PostgresError.self) { try await client.query("SELECT 1") }
        #expect(error?.code == .connectionFailed)
    }

    @Test func `a deadlock is run again until both have done their part`() async throws {
        let options = try await PostgresServer.shared.emptyDatabase()
        let client = PostgresClient(options, connectionsMax: 2)
        try await client.withConnection { connection in
            try await connection.execute(
                script: """
                    CREATE TABLE counters (id int8 PRIMARY KEY, value int8);
                    INSERT INTO counters VALUES (1, 0), (2, 0);
                    """)
        }
        let attempts = Recorded<Int64>()
        let update = "UPDATE counters SET value = value + 1 WHERE id = $1"
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (first, second) in [(Int64(1), Int64(2)), (2, 1)] {
                group.addTask {
                    try await client.transaction { transaction in
                        attempts.append(first)
                        _ = try await transaction.query(update, [.int8(first)])
                        await eventually { Set(attempts.all).count == 2 }
                        _ = try await transaction.query(update, [.int8(second)])
                    }
                }
            }
            try await group.waitForAll()
        }
        let rows = try await client.query("SELECT value FROM counters")
        #expect(rows.map { $0.int8(0) } == [2, 2])
        #expect(attempts.all.count >= 2)
    }

    @Test func `a connection left in a transaction is not lent again`() async throws {
        let options = try await PostgresServer.shared.emptyDatabase()
        let client = PostgresClient(options, connectionsMax: 1)
        try await client.withConnection { connection in
            try await connection.execute(script: "BEGIN; CREATE TABLE t (i int8)")
        }
        let rows = try await client.query("SELECT to_regclass('t') IS NULL")
        #expect(rows[0].bool(0))
    }

    @Test func `a statement prepared before a migration works again after one failure`() async throws {
        let options = try await PostgresServer.shared.emptyDatabase()
        let client = PostgresClient(options, connectionsMax: 1)
        let other = try await PostgresConnection.connect(options)
        try await other.execute(script: "CREATE TABLE t AS SELECT 1::int8 AS i")
        _ = try await client.query("SELECT * FROM t")
        try await other.execute(script: "ALTER TABLE t ADD COLUMN j int8")
        let error = await #expect(throws: PostgresError.self) { try await client.query("SELECT * FROM t") }
        #expect(error?.isRetriable == true)
        #expect(try await client.query("SELECT * FROM t").columnCount == 2)
    }

    @Test func `a closed client lends nothing`() async throws {
        let client = PostgresClient(try await PostgresServer.shared.emptyDatabase())
        _ = try await client.query("SELECT 1")
        await client.close()
        let error = await #expect(throws: PostgresError.self) { try await client.query("SELECT 1") }
        #expect(error?.code == .connectionClosed)
    }
}
