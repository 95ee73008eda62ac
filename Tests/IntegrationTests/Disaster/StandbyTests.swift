import Operations
import Postgres
import Simulation
import Store
import TestSupport
import Testing

/// The answers of a read replica (sizing.md, "Past one PostgreSQL").
@Suite(.timeLimit(.minutes(10))) struct StandbyTests {
    @Test func `a hot standby answers as of its replay, and spends nothing`() async throws {
        let recoverable = try await RecoverableServer.start()
        var standby: PrivatePostgres?
        do {
            let primary = Self.options(recoverable.server)
            try await PostgresConnection.lend(primary) { connection in
                _ = try await Migrator(PostgresServer.migrations.migrations()).run(on: connection)
            }
            try await recoverable.backUp()
            let started = try await recoverable.startStandby()
            standby = started
            try await PostgresConnection.lend(primary) { primary in
                try await PostgresConnection.lend(Self.options(started)) { standby in
                    try await Self.compare(primary, standby)
                }
            }
        } catch { Issue.record(error) }
        try await standby?.remove()
        try await recoverable.remove()
    }

    private static func options(_ server: PrivatePostgres) -> PostgresOptions { server.options("standby-tests") }

    private static func compare(_ primary: PostgresConnection, _ standby: PostgresConnection) async throws {
        _ = try await primary.query(
            """
            INSERT INTO ledger (environment, bundle_id, transaction_id, currency,
                original_transaction_id, product_id, user_id, amount, taken_back, purchase_date_ms)
            VALUES ('Production', 'com.example', '1', 'gold', '1', 'coins', 'anna', 5, 0, 1)
            """)
        try await give("anna", on: primary)
        try await eventually { try await has("anna", on: standby) }
        for view in ["active_entitlements", "entitlement_details"] {
            let count = try await standby.query("SELECT count(*) FROM \(view)")[0].int8(0)
            #expect(count == 1, "\(view)")
        }
        #expect(try await standby.query("SELECT balance FROM ledger_balances")[0].int8(0) == 5)

        _ = try await standby.query("SELECT pg_wal_replay_pause()")
        try await eventually {
            try await standby.query("SELECT pg_get_wal_replay_pause_state()")[0].text(0) == "paused"
        }
        let before = try await primary.query("SELECT clock_timestamp()::text")[0].text(0)
        try await give("bob", on: primary)
        let end = try await primary.query("SELECT pg_current_wal_flush_lsn()::text")[0].text(0)
        try await eventually {
            try await standby.query("SELECT pg_last_wal_receive_lsn() >= $1::pg_lsn", [.text(end)])[0].bool(0)
        }
        // Received and not replayed: the case of the staleness rule.
        #expect(try await !has("bob", on: standby))
        #expect(try await !hasReplayed(before, standby))
        _ = try await standby.query("SELECT pg_wal_replay_resume()")
        try await eventually { try await has("bob", on: standby) }
        #expect(try await hasReplayed(before, standby))

        let error = await #expect(throws: PostgresError.self) {
            _ = try await standby.query("SELECT ledger_debit('anna', 'gold', 1, 'order 1')")
        }
        #expect(error?.sqlState == SQLState("25006"))
    }

    private static func give(_ user: String, on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            """
            INSERT INTO entitlements (
                environment, bundle_id, original_transaction_id, entitlement_key, user_id, periods)
            VALUES ('Production', 'com.example', $1, 'premium', $1, '{[2020-01-01,)}')
            """, [.text(user)])
    }

    private static func has(_ user: String, on connection: PostgresConnection) async throws -> Bool {
        try await connection.query("SELECT has_entitlement($1, 'premium')", [.text(user)])[0].bool(0)
    }

    private static func hasReplayed(_ instant: String, _ standby: PostgresConnection) async throws -> Bool {
        try await standby.query(
            "SELECT coalesce(pg_last_xact_replay_timestamp() >= $1::timestamptz, false)", [.text(instant)])[0].bool(0)
    }
}
