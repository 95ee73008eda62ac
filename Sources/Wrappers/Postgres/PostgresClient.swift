import Platform
import Synchronization

/// Connections to one server, lent to one task at a time, safe to share between all.
///
/// A connection that broke is replaced by the next call, with a growing and jittered delay between
/// attempts. What a call was doing when its connection broke is not repeated here: only the caller
/// knows whether it may be.
package final class PostgresClient: Sendable {
    private let pool: ConnectionPool
    private let options: PostgresOptions

    /// Opens nothing yet; the first call connects.
    package init(_ options: PostgresOptions, connectionsMax: Int = 2) {
        pool = ConnectionPool(options, connectionsMax: connectionsMax)
        self.options = options
    }

    /// Maximum time of one statement.
    package var statementDeadline: Duration { options.statementDeadline }

    /// Number of connections at this moment; readable from any thread.
    package var connections: ConnectionCounts { pool.counts.withLock { $0 } }

    /// Opens a connection beside those that are lent, for who listens or holds a lock of the
    /// session; the caller closes it.
    ///
    /// The server ends the session, and lets go of its lock, soon after this process is gone or
    /// stands still.
    package func connect() async throws(PostgresError) -> PostgresConnection {
        var options = options
        options.isHeld = true
        return try await PostgresConnection.connect(options)
    }

    /// Lends a connection to `body`, waiting for a free or new one up to the connect deadline.
    package func withConnection<T>(_ body: (PostgresConnection) async throws -> T) async throws -> T {
        let connection = try await lease()
        return try await closing {
            await pool.giveBack(connection)
        } after: {
            try await body(connection)
        }
    }

    /// Lends a connection beside the others to `body`, which may hold a lock of the session.
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

    /// Runs `body` in a transaction, and again from its start when another transaction was in the
    /// way (a deadlock or a serialization failure), up to `attemptsMax` times in all.
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

    /// Tries the newest login, and replaces the sessions of a former one once it has worked: idle
    /// ones at once, others when they come back or are used next.
    ///
    /// - Throws: while the login does not work; the former one stays in use.
    package func signIn() async throws(PostgresError) { try await pool.signIn() }

    /// Closes the idle connections, and those on loan when they come back.
    package func close() async { await pool.close() }
}
