import Platform
import Synchronization

/// Connections to one server, each lent to one task at a time; any number of tasks may share a client.
///
/// The next call replaces a broken connection, with a growing and jittered delay between attempts. The client does not
/// repeat a call whose connection broke: only the caller knows whether the call may be repeated.
package final class PostgresClient: Sendable {
    private let pool: ConnectionPool
    private let options: PostgresOptions

    /// Makes a client without a connection; the first call connects.
    package init(_ options: PostgresOptions, connectionsMax: Int = 2) {
        pool = ConnectionPool(options, connectionsMax: connectionsMax)
        self.options = options
    }

    /// Maximum time of one statement.
    package var statementDeadline: Duration { options.statementDeadline }

    /// Current counts of the connections; readable from any thread.
    package var connections: ConnectionCounts { pool.counts.withLock { $0 } }

    /// Opens an additional connection for a caller that listens or holds a lock of the session; the caller closes it.
    ///
    /// The server ends the session, and releases its lock, soon after this process ends or stops running.
    package func connect() async throws(PostgresError) -> PostgresConnection {
        var options = options
        options.isHeld = true
        return try await PostgresConnection.connect(options)
    }

    /// Calls `body` with a connection, after a wait for a free or new one up to the connect deadline.
    package func withConnection<T>(_ body: (PostgresConnection) async throws -> T) async throws -> T {
        let connection = try await lease()
        return try await closing {
            await pool.giveBack(connection)
        } after: {
            try await body(connection)
        }
    }

    /// Calls `body` with an additional connection, which may hold a lock of the session.
    package func withHeldConnection<T>(_ body: (PostgresConnection) async throws -> T) async throws -> T {
        let connection = try await connect()
        return try await closing {
            await connection.close()
        } after: {
            try await body(connection)
        }
    }

    private func lease() async throws -> PostgresConnection {
        options.waitHandler(true)
        defer { options.waitHandler(false) }
        return try await pool.lease()
    }

    /// Runs `body` in a transaction, and again from its start after a conflict with another transaction (a deadlock or
    /// a serialization failure), up to `attemptsMax` times in all.
    package func transaction<T>(
        deadline: Duration? = nil, attemptsMax: Int = 5, _ body: (PostgresConnection) async throws -> T
    ) async throws -> T {
        try await withConnection { connection in
            var attempt = 1
            while true {
                do { return try await connection.transaction(deadline: deadline, body) } catch let error
                    as PostgresError where error.isContention
                {
                    if attempt == attemptsMax { throw error }
                    attempt += 1
                }
            }
        }
    }

    /// Runs one statement on any connection.
    package func query(_ sql: String, _ parameters: [PostgresValue] = [], deadline: Duration? = nil) async throws
        -> PostgresRows
    { try await withConnection { connection in try await connection.query(sql, parameters, deadline: deadline) } }

    /// Tries the newest login, and replaces the sessions of a former login once the newest has worked: idle sessions
    /// at once, others when they are returned or used next.
    ///
    /// - Throws: an error if the login does not work; the former login then stays in use.
    package func signIn() async throws(PostgresError) { try await pool.signIn() }

    /// Closes the idle connections at once, and connections in use when they are returned.
    package func close() async { await pool.close() }
}
