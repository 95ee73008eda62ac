import Postgres
import TestSupport
import Testing

/// A session sets what it depends on, whatever server, role and database have set.
@Suite(.timeLimit(.minutes(10))) struct SessionSettingsTests {
    /// A database whose settings are all wrong for us.
    private static func hostileDatabase() async throws -> PostgresOptions {
        let options = try await PostgresServer.shared.emptyDatabase()
        let connection = try await PostgresConnection.connect(options)
        for (name, value) in [
            ("jit", "on"), ("search_path", "elsewhere"), ("lock_timeout", "1"), ("statement_timeout", "0"),
            ("idle_in_transaction_session_timeout", "0"), ("synchronous_commit", "off"), ("datestyle", "German"),
            ("timezone", "Asia/Kolkata"), ("default_transaction_isolation", "serializable"),
            ("enable_indexscan", "off"), ("tcp_keepalives_idle", "0"), ("tcp_user_timeout", "0"),
            ("client_connection_check_interval", "0"), ("max_parallel_workers_per_gather", "4"),
        ] {
            try await connection.execute(
                script: """
                    DO $$ BEGIN
                        EXECUTE format('ALTER DATABASE %I SET \(name) = %L',
                            current_database(), '\(value)');
                    END $$
                    """)
        }
        await connection.close()
        return options
    }

    private static func shown(_ connection: PostgresConnection) async throws -> [String: String] {
        let rows = try await connection.query("SELECT name, setting FROM pg_settings")
        return rows.reduce(into: [:]) { $0[$1.text(0)] = $1.optionalText(1) }
    }

    private static func expectOwn(_ shown: [String: String]) {
        #expect(shown["jit"] == "off")
        #expect(shown["search_path"] == #""public""#)
        #expect(shown["lock_timeout"] == "0")
        #expect(shown["statement_timeout"] != "0")
        #expect(shown["idle_in_transaction_session_timeout"] != "0")
        #expect(shown["synchronous_commit"] == "on")
        #expect(shown["DateStyle"] == "ISO, MDY")
        #expect(shown["TimeZone"] == "UTC")
        #expect(shown["default_transaction_isolation"] == "read committed")
        #expect(shown["enable_indexscan"] == "on")
        #expect(shown["tcp_keepalives_idle"] != "0")
        #expect(shown["tcp_user_timeout"] != "0")
        #expect(shown["client_connection_check_interval"] != "0")
        #expect(shown["max_parallel_workers_per_gather"] == "0")
    }

    @Test func `a lent session states what it depends on`() async throws {
        let client = PostgresClient(try await Self.hostileDatabase())
        Self.expectOwn(try await client.withConnection { try await Self.shown($0) })
        await client.close()
    }

    @Test func `a session of one's own states the same, and that it is held`() async throws {
        let client = PostgresClient(try await Self.hostileDatabase())
        let connection = try await client.connect()
        let shown = try await Self.shown(connection)
        Self.expectOwn(shown)
        #expect(shown["idle_session_timeout"] != "0")
        await connection.close()
    }
}
