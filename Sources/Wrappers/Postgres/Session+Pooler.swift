import CLibPQ
import Glibc

/// The check that the server's process behind a connection serves no other connection.
///
/// A pooler in transaction mode preserves nothing that the workers depend on: settings of the session such as
/// `search_path`, prepared statements, LISTEN, locks of the session.
extension Session {
    /// Whether the answering process is the process that the greeting named.
    ///
    /// Poolers report a process number of their own in the greeting.
    func isDirect(until deadline: ContinuousClock.Instant) throws(PostgresError) -> Bool {
        let answer = try answer(to: "SELECT pg_backend_pid()", until: deadline)
        return unsafe answer == "\(PQbackendPID(try open()))"
    }

    /// Ends this session; throws if the session outlives the server's process that it has used.
    ///
    /// The server is asked to end the process as soon as the process is idle. If the session has a process of its own,
    /// as in a pool in session mode, the session ends too. A pool in transaction mode lends the process to others or
    /// replaces it, whatever the load, and the session survives. A comparison of two sessions would detect that only
    /// by chance, and would need two places in the pool.
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

    /// Runs a query without preparing a statement, whose name another client of the pooler may have used.
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

    /// Whether a statement's name is not in the state that this session left: another client prepares statements in
    /// the same server process.
    var isOfSharedProcess: Bool { sqlState == .invalidStatementName || sqlState == .duplicateStatementName }
}
