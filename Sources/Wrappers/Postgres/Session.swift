import CLibPQ
import Glibc
import Threads

/// A libpq connection that never blocks inside libpq: every wait is a `poll` of this class with a deadline.
///
/// The session owns the `PGconn`, and only its actor's thread uses it. After `close()`, a missed deadline or a
/// cancelled wait it is closed permanently, because a late answer could be mistaken for the next statement's answer.
@safe final class Session {
    private(set) var connection: OpaquePointer?
    var preparedStatements: PreparedStatements
    let wakePipe: WakePipe
    private let noticeSink: NoticeSink

    @unsafe init(takingOwnershipOf connection: OpaquePointer, wakePipe: WakePipe, options: PostgresOptions) {
        unsafe self.connection = unsafe connection
        self.wakePipe = wakePipe
        noticeSink = NoticeSink(handler: options.noticeHandler)
        preparedStatements = PreparedStatements(countMax: options.preparedStatementsMax)
        unsafe noticeSink.receiveNotices(of: connection)
    }

    deinit { close() }

    func close() {
        if let open = unsafe connection { unsafe PQfinish(open) }
        unsafe connection = nil
    }

    var isOpen: Bool { unsafe connection != nil }

    /// Whether a transaction is open, failed or not, according to the server's last answer.
    var isInTransaction: Bool {
        guard let connection = unsafe connection else { return false }
        return unsafe PQtransactionStatus(connection) != PQTRANS_IDLE
    }

    var isTransactionFailed: Bool {
        guard let connection = unsafe connection else { return false }
        return unsafe PQtransactionStatus(connection) == PQTRANS_INERROR
    }

    @unsafe func open() throws(PostgresError) -> OpaquePointer {
        guard let connection = unsafe connection else {
            throw PostgresError(code: .connectionClosed, message: "the connection is closed, take a new one")
        }
        return unsafe connection
    }

    /// Detects an end of the connection that came while no call was waiting for an answer.
    ///
    /// The function reads all available input: a server sends the cause before it closes the connection.
    func isAlive() -> Bool {
        guard let connection = unsafe connection else { return false }
        var descriptor = unsafe pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
        while unsafe poll(&descriptor, 1, 0) > 0 {
            if unsafe PQconsumeInput(connection) == 0 || PQstatus(connection) != CONNECTION_OK {
                close()
                return false
            }
        }
        return true
    }

    /// Waits until the socket is ready, and closes the connection if that takes too long.
    ///
    /// - Returns: the events for which the socket is ready.
    func wait(for events: Int32, until deadline: ContinuousClock.Instant) throws(PostgresError) -> Int32 {
        let socket = unsafe PQsocket(try open())
        var descriptors = [
            pollfd(fd: socket, events: Int16(events), revents: 0),
            pollfd(fd: wakePipe.readEnd, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            let left = deadline - .now
            let count = unsafe poll(&descriptors, nfds_t(descriptors.count), left.pollMilliseconds)
            if count < 0, errno == EINTR { continue }
            if count > 0, descriptors[0].revents != 0 { return Int32(descriptors[0].revents) }
            if count > 0 { throw interrupt(.cancelled, "the caller's task was cancelled") }
            if left <= .zero { throw interrupt(.deadlineExceeded, "no answer within the deadline") }
        }
    }

    /// Asks the server to cancel the statement, and closes the connection.
    private func interrupt(_ code: PostgresError.Code, _ message: String) -> PostgresError {
        requestCancel()
        close()
        return PostgresError(code: code, message: message + "; the connection was closed")
    }

    /// Sends the cancel request from a separate thread: `PQcancel` blocks, and without end if the server's machine
    /// accepts connections that a stopped server never answers.
    private func requestCancel() {
        guard let connection = unsafe connection, unsafe PQstatus(connection) == CONNECTION_OK,
            let request = unsafe PQgetCancel(connection)
        else { return }
        nonisolated(unsafe) let owned = unsafe request
        let isStarted = OwnThread.start(name: "postgres-cancel", stackBytes: 1 << 20) {
            var message = [CChar](repeating: 0, count: 256)
            _ = unsafe PQcancel(owned, &message, Int32(message.count))
            unsafe PQfreeCancel(owned)
        }
        if !isStarted { unsafe PQfreeCancel(request) }
    }
}

extension Duration {
    /// Milliseconds for `poll`, rounded up so that a wait never spins through its last millisecond.
    var pollMilliseconds: Int32 {
        let (seconds, attoseconds) = components
        if seconds < 0 || attoseconds < 0 { return 0 }
        let milliseconds = min(seconds, 86_400) * 1000
        return Int32(milliseconds + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}

/// Passes the server's notices to a Swift closure; exists as long as its session.
final class NoticeSink {
    private let handler: @Sendable (PostgresNotice) -> Void

    init(handler: @escaping @Sendable (PostgresNotice) -> Void) { self.handler = handler }

    /// The connection must not outlive this object: libpq stores an unretained pointer to it.
    @unsafe func receiveNotices(of connection: OpaquePointer) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        _ = unsafe PQsetNoticeReceiver(
            connection,
            { context, result in
                guard let context = unsafe context, let result = unsafe result else { return }
                let sink = unsafe Unmanaged<NoticeSink>.fromOpaque(context).takeUnretainedValue()
                let fields = unsafe ErrorFields(result)
                sink.handler(fields.notice)
            }, context)
    }
}

/// A NOTICE or WARNING of the server, without its detail, which may quote values.
package struct PostgresNotice: Hashable, Sendable {
    package let severity: String
    package let sqlState: SQLState
    package let message: String
}

/// A NOTIFY of another session on a channel that this connection listens to.
package struct PostgresNotification: Hashable, Sendable {
    package let channel: String
    package let payload: String
}

/// Interrupts a `poll` from another thread when a task that waits for the server is cancelled.
///
/// A pipe replaces a flag, because the waiting thread is blocked in the kernel. Both ends are closed with the object;
/// a full pipe wakes the thread as well as a single byte.
final class WakePipe: Sendable {
    let readEnd: Int32
    private let writeEnd: Int32

    /// Fails if the process has no free file descriptor.
    init?() {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { return nil }
        readEnd = ends[0]
        writeEnd = ends[1]
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    func wake() {
        var byte: UInt8 = 1
        _ = unsafe write(writeEnd, &byte, 1)
    }

    /// Discards the bytes from an earlier cancellation.
    func clear() {
        var bytes: [UInt8] = Array(repeating: 0, count: 64)
        while unsafe read(readEnd, &bytes, bytes.count) > 0 {}
    }
}
