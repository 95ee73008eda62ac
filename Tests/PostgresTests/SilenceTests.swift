import Postgres
import Simulation
import TestSupport
import Testing

/// The server releases the locks of a process that is frozen or cut off.
@Suite(.timeLimit(.minutes(10))) struct SilenceTests {
    private let direct: PostgresOptions
    private let proxied: PostgresOptions
    private let proxy: StallingProxy

    init() async throws {
        direct = try await PostgresServer.shared.emptyDatabase()
        let port = try await PostgresServer.shared.server().port
        proxy = try StallingProxy(to: port)
        var options = direct
        options.connectionString = direct.connectionString.replacing(":\(port)/", with: ":\(proxy.port)/")
        options.silenceMax = .seconds(2)
        proxied = options
    }

    /// Waits for a lock as the next process does.
    private func successorGets(_ lock: Int64) async throws {
        let successor = try await PostgresConnection.connect(direct)
        _ = try await successor.query("SELECT pg_advisory_lock($1)", [.int8(lock)], deadline: .seconds(20))
        await successor.close()
    }

    @Test func `a transaction whose process stands still ends, and its locks with it`() async throws {
        let frozen = try await PostgresConnection.connect(proxied)
        _ = try await frozen.query("BEGIN")
        _ = try await frozen.query("SELECT pg_advisory_xact_lock(7)")
        proxy.stall()
        try await successorGets(7)
        proxy.stop()
    }

    @Test func `so does one that stood still while a statement ran`() async throws {
        let frozen = try await PostgresConnection.connect(proxied)
        _ = try await frozen.query("BEGIN")
        _ = try await frozen.query("SELECT pg_advisory_xact_lock(8)")
        let running = Task { try? await frozen.query("SELECT pg_sleep(1)") }
        let observer = try await PostgresConnection.connect(direct)
        try await eventually {
            try await observer.query(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND query = 'SELECT pg_sleep(1)'
                """)[0].int8(0) == 1
        }
        proxy.stall()
        try await successorGets(8)
        proxy.stop()
        _ = await running.value
        await observer.close()
    }

    @Test func `a lock of a held session stays while its process lives, and no longer`() async throws {
        let client = PostgresClient(proxied)
        let frozen = try await client.connect()
        let id = try await frozen.query("SELECT pg_backend_pid()::int8")[0].int8(0)
        _ = try await frozen.query("SELECT pg_advisory_lock(9)")
        let observer = try await PostgresConnection.connect(direct)
        // Three times as long as it may be silent.
        try await eventually(every: .milliseconds(100)) {
            try await observer.query(
                """
                SELECT clock_timestamp() > backend_start + interval '6 seconds'
                FROM pg_stat_activity WHERE pid = $1::int8
                """, [.int8(id)]
            ).first?.bool(0) ?? true
        }
        #expect(try await !observer.query("SELECT pg_try_advisory_lock(9)")[0].bool(0))
        #expect(await frozen.isUsable())
        proxy.stall()
        try await successorGets(9)
        proxy.stop()
        await frozen.close()
        await observer.close()
        await client.close()
    }
}
