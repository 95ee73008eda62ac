import CLibPQ
import Glibc

/// Whether a connection pooler stands between this process and the server, and what it shares out.
extension Session {
    /// Throws if the server's process behind this connection serves other connections too, which
    /// is what a pooler in transaction mode does.
    ///
    /// Such a pooler keeps none of what the workers rest on: settings of the session such as
    /// `search_path`, prepared statements, LISTEN, locks of the session. A pooler names itself by
    /// another process ID than the server's; then a second connection shows whether it gets the
    /// same process as this one. A pool in session mode passes.
    func requireServerProcessOfItsOwn(
        _ options: PostgresOptions,
        until deadline: ContinuousClock.Instant
    ) throws(PostgresError) {
        let process = try serverProcessID(until: deadline)
        guard unsafe process != PQbackendPID(try open()) else { return }
        let probeEnd = min(deadline, .now + Self.probeMax)
        guard let probe = try? Session.connect(options, wakePipe: wakePipe, until: probeEnd) else {
            // A pool that is full lends a second session of its own to nobody.
            return
        }
        defer { probe.close() }
        guard (try? probe.serverProcessID(until: probeEnd)) == process else { return }
        close()
        throw PostgresError(code: .pooledByTransaction, message: Self.pooled)
    }

    private static let probeMax = Duration.seconds(2)

    private static let pooled =
        "the connection goes through a pooler in transaction mode (pgbouncer's pool_mode),"
        + " which keeps no search_path, prepared statement, LISTEN or session lock: connect to"
        + " PostgreSQL itself, or through a pool with pool_mode=session"

    /// Asked without preparing a statement, whose name a pooler's other client may have taken.
    private func serverProcessID(
        until deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> Int32 {
        guard unsafe PQsendQuery(try open(), "SELECT pg_backend_pid()") == 1 else {
            throw lost("the question for the server's process could not be sent")
        }
        var process: Int32?
        var failure: PostgresError?
        while let result = try unsafe nextResult(until: deadline, after: failure) {
            defer { unsafe PQclear(result) }
            if unsafe PQresultStatus(result) == PGRES_TUPLES_OK, unsafe PQntuples(result) == 1 {
                process = unsafe Int32(String(cString: PQgetvalue(result, 0, 0)))
            } else if unsafe PQresultStatus(result) == PGRES_FATAL_ERROR {
                failure = unsafe ErrorFields(result).error()
            }
        }
        if let failure { throw failure }
        guard let process else {
            throw PostgresError(
                code: .unexpectedAnswer,
                message: "the server did not name its process"
            )
        }
        return process
    }
}
