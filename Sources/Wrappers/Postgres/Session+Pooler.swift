import CLibPQ
import Glibc

/// The proof that the server's process behind a connection serves no other.
///
/// A pooler in transaction mode keeps none of what the workers rest on: settings of the session
/// such as `search_path`, prepared statements, LISTEN, locks of the session.
extension Session {
    /// Whether the process that answers is the one of the greeting.
    ///
    /// Poolers name themselves by a number of their own.
    func isDirect(until deadline: ContinuousClock.Instant) throws(PostgresError) -> Bool {
        let answer = try answer(to: "SELECT pg_backend_pid()", until: deadline)
        return unsafe answer == "\(PQbackendPID(try open()))"
    }

    /// Ends this session; throws if it outlives the server's process that it has used.
    ///
    /// The server is asked to end the process as soon as it is idle. A process of its own takes the
    /// session with it, as in a pool in session mode. A pool in transaction mode lends the process
    /// to others or replaces it, whatever the load, and the session stays. Two sessions compared
    /// with each other would show that by chance alone, and need two places in the pool.
    func requireProcessOfItsOwn(until deadline: ContinuousClock.Instant) throws(PostgresError) {
        _ = try answer(to: "SET idle_session_timeout = '100ms'", until: deadline)
        let end = ContinuousClock.now + Self.endMax
        while isAlive() {
            do { _ = try wait(for: Int32(POLLIN), until: min(end, deadline)) } catch {
                guard error.code == .deadlineExceeded, end <= deadline else { throw error }
                throw .pooledByTransaction
            }
        }
    }

    /// Longest time for the server to end an idle process.
    private static let endMax = Duration.seconds(5)

    /// Asks without preparing a statement, whose name a pooler's other client may have taken.
    ///
    /// - Returns: the first field, or an empty text.
    private func answer(to question: String, until deadline: ContinuousClock.Instant) throws(PostgresError) -> String {
        guard unsafe PQsendQuery(try open(), question) == 1 else {
            throw lost("the question for the server's process could not be sent")
        }
        var answer = ""
        var failure: PostgresError?
        while let result = try unsafe nextResult(until: deadline, after: failure) {
            defer { unsafe PQclear(result) }
            if unsafe PQresultStatus(result) == PGRES_TUPLES_OK, unsafe PQntuples(result) == 1 {
                answer = unsafe String(cString: PQgetvalue(result, 0, 0))
            } else if unsafe PQresultStatus(result) == PGRES_FATAL_ERROR {
                failure = unsafe ErrorFields(result).error()
            }
        }
        if let failure { throw failure }
        return answer
    }
}

extension PostgresError {
    static let pooledByTransaction = PostgresError(
        code: .pooledByTransaction,
        message: "the connection goes through a pooler in transaction mode (pgbouncer's pool_mode),"
            + " which keeps no search_path, prepared statement, LISTEN or session lock: connect to"
            + " PostgreSQL itself, or through a pool with pool_mode=session")

    /// Whether a statement's name is not what this session made it: another client prepares
    /// statements in the same process of the server.
    var isOfSharedProcess: Bool { sqlState == .invalidStatementName || sqlState == .duplicateStatementName }
}
