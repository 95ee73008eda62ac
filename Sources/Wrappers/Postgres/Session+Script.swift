import CLibPQ
import Glibc

extension Session {
    /// Runs a script of several statements unchanged, with the simple protocol.
    ///
    /// Outside of a transaction the whole script is one transaction. Throws the first failure, after the server has
    /// sent all its answers.
    func run(script: String, until deadline: ContinuousClock.Instant) throws(PostgresError) {
        let connection = try unsafe open()
        guard unsafe PQsendQuery(connection, script) == 1 else { throw lost("the script could not be sent") }
        var failure: PostgresError?
        while let result = try unsafe nextResult(until: deadline, after: failure) {
            if unsafe PQresultStatus(result) == PGRES_FATAL_ERROR {
                let error = unsafe ErrorFields(result).error()
                failure = failure ?? error
            }
            unsafe PQclear(result)
            if unsafe PQstatus(connection) == CONNECTION_BAD {
                throw lost("the server closed the connection", after: failure)
            }
        }
        if let failure { throw failure }
    }

    /// Waits for a notification, and returns all that have arrived.
    ///
    /// - Returns: an empty array if the deadline has passed.
    func notifications(until deadline: ContinuousClock.Instant) throws(PostgresError) -> [PostgresNotification] {
        let connection = try unsafe open()
        while true {
            guard unsafe PQconsumeInput(connection) == 1 else { throw lost("the server closed the connection") }
            let arrived = unsafe takeNotifications(of: connection)
            if !arrived.isEmpty || deadline <= .now { return arrived }
            try waitForInput(until: deadline)
        }
    }

    /// Waits for input; unlike `wait`, leaves the connection usable after a time-out or a cancellation.
    private func waitForInput(until deadline: ContinuousClock.Instant) throws(PostgresError) {
        let socket = unsafe PQsocket(try open())
        var descriptors = [
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
            pollfd(fd: wakePipe.readEnd, events: Int16(POLLIN), revents: 0),
        ]
        let left = (deadline - .now).pollMilliseconds
        _ = unsafe poll(&descriptors, nfds_t(descriptors.count), left)
        if descriptors[1].revents != 0 {
            throw PostgresError(code: .cancelled, message: "the caller's task was cancelled")
        }
    }

    @unsafe private func takeNotifications(of connection: OpaquePointer) -> [PostgresNotification] {
        var notifications: [PostgresNotification] = []
        while let notification = unsafe PQnotifies(connection) {
            notifications.append(
                PostgresNotification(
                    channel: unsafe String(cString: notification.pointee.relname),
                    payload: unsafe String(cString: notification.pointee.extra)))
            unsafe PQfreemem(notification)
        }
        return notifications
    }
}
