import CLibPQ
import Glibc

extension Session {
    private enum Step {
        case prepare(PreparedStatements.Key, name: String)
        case execute
        case forget
    }

    /// Runs any number of statements in order, in one round trip.
    ///
    /// Statements that are new to this connection are prepared in the same round trip. Outside of a transaction the
    /// statements form one transaction: the first failure undoes all of them, and is thrown.
    func run(_ statements: [PostgresStatement], until deadline: ContinuousClock.Instant) throws(PostgresError)
        -> [PostgresRows]
    {
        let connection = try unsafe open()
        guard unsafe PQenterPipelineMode(connection) == 1 else {
            throw lost("the connection is not ready for a statement")
        }
        let steps = try send(statements)
        let rows = try collect(steps, until: deadline)
        guard unsafe PQexitPipelineMode(connection) == 1 else {
            throw lost("the server sent more answers than it was asked for")
        }
        if case .failure(let error) = rows, Self.isOutlived(error) || error.isOfSharedProcess {
            close()
            if error.isOfSharedProcess { throw .pooledByTransaction }
        }
        return try rows.get()
    }

    /// Whether only a new connection helps: statements that were prepared before a migration no longer fit, or the
    /// server has become a read-only standby.
    private static func isOutlived(_ error: PostgresError) -> Bool {
        error.sqlState == .featureNotSupported || error.sqlState == .readOnlyTransaction
    }

    private func send(_ statements: [PostgresStatement]) throws(PostgresError) -> [Step] {
        let connection = try unsafe open()
        var steps: [Step] = []
        var named: [PreparedStatements.Key: String] = [:]
        for name in preparedStatements.removeExcess() {
            let sql = "DEALLOCATE \(name)"
            try sent(unsafe PQsendQueryParams(connection, sql, 0, nil, nil, nil, nil, 1))
            steps.append(.forget)
        }
        for statement in statements {
            let key = PreparedStatements.Key(sql: statement.sql, types: statement.types)
            let name: String
            if let known = preparedStatements.name(of: key) ?? named[key] {
                name = known
            } else {
                name = preparedStatements.newName()
                named[key] = name
                try sendPrepare(key, name: name)
                steps.append(.prepare(key, name: name))
            }
            let parameters = ParameterList(statement.parameters)
            let isSent = unsafe parameters.withArguments { count, values, lengths, formats in
                unsafe PQsendQueryPrepared(connection, name, count, values, lengths, formats, 1)
            }
            try sent(isSent)
            steps.append(.execute)
        }
        try sent(unsafe PQpipelineSync(connection))
        return steps
    }

    private func sendPrepare(_ key: PreparedStatements.Key, name: String) throws(PostgresError) {
        let connection = try unsafe open()
        let types = key.types.map { Oid($0.oid) }
        let count = Int32(types.count)
        try sent(unsafe PQsendPrepare(connection, name, key.sql, count, types))
    }

    private func sent(_ code: Int32) throws(PostgresError) {
        if code != 1 { throw lost("a statement could not be sent") }
    }

    /// Reads the answer to every step, then the answer to the final synchronisation.
    private func collect(_ steps: [Step], until deadline: ContinuousClock.Instant) throws(PostgresError) -> Result<
        [PostgresRows], PostgresError
    > {
        var rows: [PostgresRows] = []
        var failure: PostgresError?
        for step in steps {
            let result = try unsafe requiredResult(until: deadline, after: failure)
            switch unsafe PQresultStatus(result) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
                let answer = unsafe PostgresRows(takingOwnershipOf: result)
                if case .prepare(let key, let name) = step {
                    preparedStatements.insert(key, name: name)
                } else if case .execute = step {
                    rows.append(answer)
                }
            case PGRES_PIPELINE_ABORTED: unsafe PQclear(result)
            default:
                let fields = unsafe ErrorFields(result)
                unsafe PQclear(result)
                failure = failure ?? fields.error()
            }
            try expectEndOfStep(until: deadline, after: failure)
        }
        let end = try unsafe requiredResult(until: deadline, after: failure)
        let isEnd = unsafe PQresultStatus(end) == PGRES_PIPELINE_SYNC
        unsafe PQclear(end)
        if !isEnd { throw lost("the server's answers do not match the statements", after: failure) }
        if let failure { return .failure(failure) }
        return .success(rows)
    }

    private func expectEndOfStep(until deadline: ContinuousClock.Instant, after failure: PostgresError?)
        throws(PostgresError)
    {
        if let extra = try unsafe nextResult(until: deadline, after: failure) {
            unsafe PQclear(extra)
            throw lost("one statement had two answers", after: failure)
        }
    }

    @unsafe private func requiredResult(until deadline: ContinuousClock.Instant, after failure: PostgresError?)
        throws(PostgresError) -> OpaquePointer
    {
        if let result = try unsafe nextResult(until: deadline, after: failure) { return unsafe result }
        throw lost("a statement had no answer", after: failure)
    }

    /// Waits for the next result.
    ///
    /// `nil` if libpq reports that the step is complete.
    ///
    /// The function sends queued bytes while it waits. Otherwise a server that stops reading until its own output is
    /// read would wait for this client, and this client for the server.
    @unsafe func nextResult(until deadline: ContinuousClock.Instant, after failure: PostgresError? = nil)
        throws(PostgresError) -> OpaquePointer?
    {
        let connection = try unsafe open()
        while unsafe PQisBusy(connection) == 1 {
            let unsent = unsafe PQflush(connection)
            if unsent < 0 { throw lost("the connection broke while sending", after: failure) }
            let events = Int32(POLLIN) | (unsent > 0 ? Int32(POLLOUT) : 0)
            let ready = try wait(for: events, until: deadline)
            let isReadable = ready & ~Int32(POLLOUT) != 0
            if isReadable, unsafe PQconsumeInput(connection) == 0 {
                throw lost("the server closed the connection", after: failure)
            }
        }
        return unsafe PQgetResult(connection)
    }

    /// Closes the connection and returns the cause, with the server's last error if there is one.
    func lost(_ message: String, after failure: PostgresError? = nil) -> PostgresError {
        let lastWord = failure ?? lastServerError()
        close()
        let reason = lastWord.map { ": \($0.message)" } ?? ""
        return PostgresError(code: .connectionLost, message: message + reason, sqlState: lastWord?.sqlState)
    }

    /// The server's error before it closed the connection; libpq stores it as a result.
    private func lastServerError() -> PostgresError? {
        guard let connection = unsafe connection else { return nil }
        for _ in 0..<Self.resultsAfterTheEndMax {
            guard unsafe PQisBusy(connection) == 0, let result = unsafe PQgetResult(connection) else { return nil }
            defer { unsafe PQclear(result) }
            let fields = unsafe ErrorFields(result)
            if unsafe PQresultStatus(result) == PGRES_FATAL_ERROR, fields.sqlState.code.count == 5 {
                return fields.error()
            }
        }
        return nil
    }

    private static let resultsAfterTheEndMax = 4
}
