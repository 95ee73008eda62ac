import Platform
import Threads

/// A connection to a PostgreSQL server, on its own thread.
///
/// A connection serves one task at a time: statements of two tasks would end up in one transaction. Share a
/// `PostgresClient` instead. Every call has a deadline. If it passes, or if the calling task is cancelled during the
/// call, the server is asked to stop and the connection is closed. As after any lost connection, statements that had
/// reached the server may have been executed or not.
package actor PostgresConnection {
    private let executor: ThreadExecutor
    let options: PostgresOptions
    /// The login with which the connection was made.
    nonisolated let login: PostgresLogin
    private var session: Session?
    private var transactionStart: PostgresStatement?
    private var transactionDeadline: ContinuousClock.Instant?
    private var renewedAt = ContinuousClock.now
    /// Whether the server accepted writes when the session began.
    private var isWritable = false
    /// Whether the session was closed because the server no longer accepts writes.
    private var isDemoted = false
    /// The task that renews the session while `PostgresOptions.isHeld` is set.
    private var renewals: Task<Void, Never>?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    init(_ options: PostgresOptions, _ login: PostgresLogin) {
        self.login = login
        self.options = options.with(login)
        executor = ThreadExecutor(name: "postgres")
    }

    isolated deinit {
        renewals?.cancel()
        session?.close()
        executor.stop()
    }

    /// Connects; libpq's `PG…` environment variables replace missing parts of the connection string.
    ///
    /// The deadline covers everything except the look-up of the host's name, which blocks in the system's resolver.
    package static func connect(_ options: PostgresOptions, deadline: Duration? = nil) async throws(PostgresError)
        -> PostgresConnection
    {
        let deadline = deadline ?? options.connectDeadline
        let wait = options.wait(within: deadline)
        let connection = try await attempt(options, deadline: deadline)
        wait?.answered()
        return connection
    }

    func open(until deadline: ContinuousClock.Instant) async throws(PostgresError) {
        guard let wakePipe = WakePipe() else {
            throw PostgresError(code: .connectionFailed, message: "no file descriptor left in this process")
        }
        do throws(PostgresError) {
            session = try await interruptible(wakePipe) { [options] () throws(PostgresError) in
                var session = try Session.connect(options, wakePipe: wakePipe, until: deadline)
                if try !session.isDirect(until: deadline) {
                    try session.requireProcessOfItsOwn(until: deadline)
                    session = try Session.connect(options, wakePipe: wakePipe, until: deadline)
                }
                isWritable = try session.apply(SessionSettings.values(options), until: deadline)
                return session
            }
        } catch {
            guard error.code == .deadlineExceeded else { throw error }
            // The cause is not a slow statement: the server does not answer at all.
            throw PostgresError(code: .connectionFailed, message: "no answer to a new connection within the deadline")
        }
        guard options.isHeld else { return }
        guard isWritable else {
            close()
            throw PostgresError(
                code: .connectionFailed, message: "the server is read-only: a standby, or a primary that was replaced",
                sqlState: .readOnlyTransaction)
        }
        renewWhileHeld()
    }

    /// Renews the session at intervals, which also shows the server that this process is alive.
    private func renewWhileHeld() {
        let interval = options.silenceMax / 4
        renewals = Task { [weak self] in
            while !Task.isCancelled {
                try? await Task.sleep(for: interval)
                guard let self, await self.renewBetweenCalls() else { return }
            }
        }
    }

    /// - Returns: false if the connection is closed.
    private func renewBetweenCalls() async -> Bool {
        guard let session, session.isOpen else { return false }
        guard transactionStart == nil, !session.isInTransaction else { return true }
        return await renew(deadline: options.statementDeadline)
    }

    /// Runs one statement.
    package func query(_ sql: String, _ parameters: [PostgresValue] = [], deadline: Duration? = nil)
        async throws(PostgresError) -> PostgresRows
    {
        let rows = try await pipeline([PostgresStatement(sql, parameters)], deadline: deadline)
        guard let first = rows.first else {
            throw PostgresError(code: .unexpectedAnswer, message: "the statement had no answer")
        }
        return first
    }

    /// Runs several statements in one round trip; each statement sees the effects of the earlier ones.
    ///
    /// Outside of a transaction the statements form one transaction: all of them take effect, or none.
    ///
    /// - Returns: the rows of each statement, in the same order.
    package func pipeline(_ statements: [PostgresStatement], deadline: Duration? = nil) async throws(PostgresError)
        -> [PostgresRows]
    {
        let session = try openSession()
        let start = transactionStart
        transactionStart = nil
        let timeout = longerTimeout(deadline).map { milliseconds in
            PostgresStatement("SELECT set_config('statement_timeout', $1, true)", [.text(milliseconds)])
        }
        let before = [start, timeout].compactMap { $0 }
        let all = before + statements
        let end = instant(deadline)
        let rows = try await interruptible(session.wakePipe) { () throws(PostgresError) in
            try session.run(all, until: end)
        }
        if start != nil { try expect("BEGIN", rows[0]) }
        return before.isEmpty ? rows : Array(rows.dropFirst(before.count))
    }

    /// Runs a script of several statements, without parameters or rows, for migrations.
    package func execute(script: String, deadline: Duration? = nil) async throws(PostgresError) {
        let session = try openSession()
        if transactionStart != nil { _ = try await pipeline([], deadline: deadline) }
        let timeout = longerTimeout(deadline).map { "SET LOCAL statement_timeout = \($0);\n" } ?? ""
        let end = instant(deadline)
        try await interruptible(session.wakePipe) { () throws(PostgresError) in
            try session.run(script: timeout + script, until: end)
        }
    }

    /// Starts receiving the channel's notifications, which `notifications(deadline:)` returns.
    package func listen(to channel: String) async throws(PostgresError) {
        let quoted = channel.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
        try await execute(script: "LISTEN \"\(quoted)\"")
    }

    /// Waits for notifications until the deadline; returns an empty array if none has arrived.
    ///
    /// The wait occupies the connection, so a listener uses a connection of its own. A lost connection loses its
    /// notifications, so the listener also needs a periodic sweep.
    package func notifications(deadline: Duration) async throws(PostgresError) -> [PostgresNotification] {
        let session = try openSession()
        let end = ContinuousClock.now + deadline
        return try await interruptible(session.wakePipe, isCall: false) { () throws(PostgresError) in
            try session.notifications(until: end)
        }
    }

    package func close() {
        renewals?.cancel()
        session?.close()
        session = nil
    }

    /// Whether the connection is open, outside of a transaction, and not ended by the server.
    package func isUsable() -> Bool {
        guard let session else { return false }
        return session.isAlive() && !session.isInTransaction
    }

    /// Renews the session if its renewal is due, see `PostgresOptions.renewalInterval`.
    ///
    /// - Returns: false if the connection is closed.
    func renewIfDue(deadline: Duration) async -> Bool {
        guard renewedAt + options.renewalInterval <= .now else { return true }
        return await renew(deadline: deadline)
    }

    /// Makes the server plan the prepared statements again, and closes the connection if the server has become
    /// read-only or does not answer.
    ///
    /// The former primary may keep its sessions after a failover. A session that only reads and listens would never
    /// detect that all writes go to another server.
    private func renew(deadline: Duration) async -> Bool {
        renewedAt = .now
        let plans = [PostgresStatement("DISCARD PLANS"), .isWritable]
        guard let rows = try? await pipeline(plans, deadline: deadline) else {
            close()
            return false
        }
        isDemoted = isWritable && !rows[1][0].bool(0)
        if isDemoted { close() }
        return !isDemoted
    }
}

extension PostgresConnection {
    /// Begins a transaction; the first statement is sent together with BEGIN, which saves a round trip.
    func begin(_ statement: PostgresStatement, deadline: Duration?) throws(PostgresError) {
        let session = try openSession()
        precondition(
            transactionStart == nil && !session.isInTransaction,
            "a transaction runs inside of another on one connection")
        transactionStart = statement
        transactionDeadline = deadline.map { .now + $0 }
    }

    /// Commits; throws if an earlier statement failed, because COMMIT would then silently roll back.
    func commit() async throws(PostgresError) {
        defer { transactionDeadline = nil }
        if transactionStart != nil {
            transactionStart = nil
            return
        }
        if session?.isTransactionFailed == true {
            throw PostgresError(
                code: .server, message: "a statement of this transaction failed, so it cannot be committed",
                sqlState: SQLState("25P02"))
        }
        try expect("COMMIT", try await pipeline([PostgresStatement("COMMIT")])[0])
    }

    /// Closes the connection if the answer belongs to another command than the one that was sent: the statement
    /// prepared under its name no longer exists, and the state of the transaction is unknown.
    private func expect(_ tag: String, _ answer: PostgresRows) throws(PostgresError) {
        guard answer.commandTag != tag else { return }
        close()
        throw PostgresError(
            code: .unexpectedAnswer, message: "\(tag) was answered by another command; the connection was closed")
    }

    /// Returns the statement timeout that the server needs for a call with a longer deadline than usual.
    ///
    /// The timeout applies until the end of the transaction. `nil` for all other calls.
    private func longerTimeout(_ deadline: Duration?) -> String? {
        guard let deadline, deadline > options.statementDeadline else { return nil }
        return SessionSettings.statementTimeout(deadline)
    }

    /// Rolls the transaction back, also for a cancelled task; closes the connection if that fails.
    func rollback() {
        transactionStart = nil
        transactionDeadline = nil
        guard let session, session.isInTransaction else { return }
        session.wakePipe.clear()
        let end = ContinuousClock.now + Self.rollbackDeadline
        if (try? session.run([PostgresStatement("ROLLBACK")], until: end)) == nil { session.close() }
    }

    private static let rollbackDeadline = Duration.seconds(5)

    private func openSession() throws(PostgresError) -> Session {
        guard let session, session.isOpen else {
            throw PostgresError(
                code: .connectionClosed,
                message: isDemoted
                    ? "the server has become read-only, connect to the one that takes writes"
                    : "the connection is closed, take a new one", sqlState: isDemoted ? .readOnlyTransaction : nil)
        }
        return session
    }

    private func instant(_ deadline: Duration?) -> ContinuousClock.Instant {
        let own = ContinuousClock.now + (deadline ?? options.statementDeadline)
        return transactionDeadline.map { min($0, own) } ?? own
    }

    /// Runs a blocking operation on this actor's thread; cancelling the calling task ends it.
    ///
    /// - Parameter isCall: whether the operation is a request to the server, and not only a wait for notifications.
    private func interruptible<T>(_ wakePipe: WakePipe, isCall: Bool = true, _ body: () throws(PostgresError) -> T)
        async throws(PostgresError) -> T
    {
        if Task.isCancelled { throw PostgresError(code: .cancelled, message: "the caller's task was cancelled") }
        wakePipe.clear()
        if isCall { options.waitHandler(true) }
        defer { if isCall { options.waitHandler(false) } }
        let result = await withTaskCancellationHandler {
            // A closure runs on the actor's thread only if it captures the actor.
            executor.checkIsolated()
            return Result(catching: body)
        } onCancel: {
            wakePipe.wake()
        }
        return try result.get()
    }
}

extension PostgresConnection {
    /// Runs `body` in a transaction: committed when it returns, rolled back when it throws.
    ///
    /// The isolation level is READ COMMITTED: each statement sees everything that was committed before it began, also
    /// during the previous statement's wait for a lock.
    ///
    /// - Parameter deadline: the limit for the whole transaction, in addition to the deadline of each call.
    package nonisolated func transaction<T>(deadline: Duration? = nil, _ body: (PostgresConnection) async throws -> T)
        async throws -> T
    { try await transaction("READ COMMITTED", deadline: deadline, body) }

    /// Runs statements that all read the same state of the database.
    ///
    /// Locks are refused in such a transaction: its snapshot would be older than the locks.
    package nonisolated func snapshot<T>(_ body: (PostgresConnection) async throws -> T) async throws -> T {
        try await transaction("REPEATABLE READ READ ONLY", deadline: nil, body)
    }

    private nonisolated func transaction<T>(
        _ mode: String, deadline: Duration?, _ body: (PostgresConnection) async throws -> T
    ) async throws -> T {
        let begin = PostgresStatement("BEGIN ISOLATION LEVEL \(mode)")
        try await self.begin(begin, deadline: deadline)
        do {
            let value = try await body(self)
            try await commit()
            return value
        } catch {
            await rollback()
            throw error
        }
    }
}
