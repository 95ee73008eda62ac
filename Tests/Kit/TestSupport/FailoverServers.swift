package import Postgres
import Simulation
import Store
import Testing

/// Two servers behind one connection string, of which one takes writes.
///
/// A failover makes the first read-only and the second writable. The first keeps the sessions that
/// it has, as a server does that an operator or a cluster manager sets aside.
package struct FailoverServers: Sendable {
    /// Names both servers; a new connection is to the one that takes writes.
    package let options: PostgresOptions
    private let first: PrivatePostgres
    private let second: PrivatePostgres
    private let firstAdministrator: PostgresConnection
    private let secondAdministrator: PostgresConnection

    /// Starts both, each with the whole schema.
    package static func start() async throws -> FailoverServers {
        let (first, second) = try await (PrivatePostgres.start(), PrivatePostgres.start())
        let connections = try await (administrator(of: first), administrator(of: second))
        let migrations = try PostgresServer.migrations.migrations()
        for connection in [connections.0, connections.1] { _ = try await Migrator(migrations).run(on: connection) }
        // One password, so that one connection string leads to both.
        let string = first.connectionString()
        let password = string.drop { $0 != ":" }.dropFirst(3).drop { $0 != ":" }.dropFirst().prefix { $0 != "@" }
        try await connections.1.execute(script: "ALTER ROLE postgres PASSWORD '\(password)'")
        try await setReadOnly(true, connections.1)
        var options = PostgresOptions(
            connectionString: string.replacing(":\(first.port)/", with: ":\(first.port),127.0.0.1:\(second.port)/")
                + "?target_session_attrs=read-write", applicationName: "failover-tests")
        options.silenceMax = .seconds(2)
        options.renewalInterval = .milliseconds(100)
        return FailoverServers(
            options: options, first: first, second: second, firstAdministrator: connections.0,
            secondAdministrator: connections.1)
    }

    /// Leaves every session of the first server open, and ends none by itself.
    package func failOver() async throws {
        try await Self.setReadOnly(true, firstAdministrator)
        try await Self.setReadOnly(false, secondAdministrator)
    }

    /// The sessions of the failover's clients that the former primary still has.
    package func sessionsOfFormerPrimary() async throws -> Int64 {
        try await firstAdministrator.query(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'failover-tests'")[0].int8(0)
    }

    package func remove() async throws {
        await firstAdministrator.close()
        await secondAdministrator.close()
        try await first.remove()
        try await second.remove()
    }

    private static func administrator(of server: PrivatePostgres) async throws -> PostgresConnection {
        try await PostgresConnection.connect(server.options("failover-administrator"))
    }

    /// Makes sessions read-only or writable: new ones at once, open ones from their next
    /// transaction.
    private static func setReadOnly(_ isReadOnly: Bool, _ administrator: PostgresConnection) async throws {
        _ = try await administrator.query(
            "ALTER SYSTEM SET default_transaction_read_only = \(isReadOnly ? "on" : "off")")
        _ = try await administrator.query("SELECT pg_reload_conf()")
        try await eventually {
            try await administrator.query("SHOW transaction_read_only")[0].text(0) == (isReadOnly ? "on" : "off")
        }
    }
}
