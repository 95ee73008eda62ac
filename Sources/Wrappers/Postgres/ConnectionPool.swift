import Platform
import Synchronization

/// The current connections of a client, and the number of callers that wait for one.
package struct ConnectionCounts: Equatable, Sendable {
    /// Connections that are open or being opened.
    package var open = 0
    /// Connections that callers are using.
    package var lent = 0
    /// Callers that wait for a connection.
    package var waiting = 0
}

/// Lends connections, opens them within a bound, and makes callers wait when all are in use.
actor ConnectionPool {
    private let options: PostgresOptions
    private let connectionsMax: Int
    private var idle: [PostgresConnection] = [] { didSet { show() } }
    private var openCount = 0 { didSet { show() } }
    private var backoff = ReconnectBackoff()
    private var waiters: [(id: UInt64, continuation: CheckedContinuation<Void, Never>)] = [] { didSet { show() } }
    private var nextWaiterID: UInt64 = 0
    private var isClosed = false
    /// The counts that `show` wrote last, for readers on other threads.
    nonisolated let counts = Mutex(ConnectionCounts())

    init(_ options: PostgresOptions, connectionsMax: Int) {
        precondition(connectionsMax > 0, "a client needs at least one connection")
        self.options = options
        self.connectionsMax = connectionsMax
    }

    func lease() async throws(PostgresError) -> PostgresConnection {
        let deadline = ContinuousClock.now + options.connectDeadline
        while true {
            if isClosed { throw PostgresError(code: .connectionClosed, message: "the client is closed") }
            if let connection = idle.popLast() {
                let left = max(deadline - .now, Self.attemptMin)
                if !connection.isOfFormerLogin, await connection.isUsable(), await connection.renewIfDue(deadline: left)
                {
                    return connection
                }
                await connection.close()
                openCount -= 1
            } else if openCount < connectionsMax {
                openCount += 1
                return try await connectOrRelease(until: deadline)
            } else {
                try await waitForReturn(until: deadline)
            }
        }
    }

    /// Tries the newest login unless it has already worked, and closes the idle sessions of a former login.
    ///
    /// Sessions in use are closed when they are returned.
    ///
    /// - Throws: an error if the login does not work; the former login then stays in use.
    func signIn() async throws(PostgresError) {
        let newest = options.login
        if newest != options.workingLogin.login {
            let deadline = options.connectDeadline
            try await PostgresConnection.attempt(options, by: newest, deadline: deadline).close()
        }
        let former = idle.filter(\.isOfFormerLogin)
        idle.removeAll(where: \.isOfFormerLogin)
        openCount -= former.count
        for connection in former { await connection.close() }
    }

    func giveBack(_ connection: PostgresConnection) async {
        let isUsable = await connection.isUsable()
        let isKept = isUsable && !isClosed && !connection.isOfFormerLogin
        if isKept {
            idle.append(connection)
        } else {
            await connection.close()
            openCount -= 1
        }
        resumeFirstWaiter()
    }

    private func show() {
        let now = ConnectionCounts(open: openCount, lent: openCount - idle.count, waiting: waiters.count)
        counts.withLock { $0 = now }
    }

    func close() async {
        isClosed = true
        let connections = idle
        idle = []
        openCount -= connections.count
        while !waiters.isEmpty { resumeFirstWaiter() }
        for connection in connections { await connection.close() }
    }

    private func connectOrRelease(until deadline: ContinuousClock.Instant) async throws(PostgresError)
        -> PostgresConnection
    {
        do throws(PostgresError) { return try await connect(until: deadline) } catch {
            openCount -= 1
            resumeFirstWaiter()
            throw error
        }
    }

    /// Connects, with retries until the deadline; throws a fault that needs an operator at once.
    private func connect(until deadline: ContinuousClock.Instant) async throws(PostgresError) -> PostgresConnection {
        var failure: PostgresError?
        let wait = options.wait(within: deadline - .now)
        while true {
            let start = min(backoff.notBefore, deadline)
            try? await ContinuousClock().sleep(until: start)
            let left = deadline - .now
            if let failure, left <= .zero || Task.isCancelled { throw failure }
            do throws(PostgresError) {
                let connection = try await PostgresConnection.attempt(options, deadline: max(left, Self.attemptMin))
                wait?.answered()
                backoff.recordSuccess()
                return connection
            } catch {
                failure = error
                backoff.recordFailure(at: .now, jitter: .random(in: 0...1))
                if error.fault != .infrastructure { throw error }
            }
        }
    }

    /// Minimum time for one attempt, even at the end of the deadline.
    private static let attemptMin = Duration.milliseconds(500)

    private func waitForReturn(until deadline: ContinuousClock.Instant) async throws(PostgresError) {
        if Task.isCancelled { throw PostgresError(code: .cancelled, message: "the caller's task was cancelled") }
        if deadline <= .now {
            throw PostgresError(
                code: .noConnectionFree, message: "all \(connectionsMax) connections of this client are in use")
        }
        let id = nextWaiterID
        nextWaiterID += 1
        let timer = Task {
            try? await ContinuousClock().sleep(until: deadline)
            resumeWaiter(id)
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in waiters.append((id, continuation)) }
        } onCancel: {
            timer.cancel()
        }
        timer.cancel()
    }

    private func resumeFirstWaiter() { if let first = waiters.first { resumeWaiter(first.id) } }

    private func resumeWaiter(_ id: UInt64) {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return }
        waiters.remove(at: index).continuation.resume()
    }
}

/// The time of the next attempt after a failed connection.
///
/// The delay doubles after each failure, up to a bound, and is random within its upper half, so that many workers do
/// not reconnect at the same instant.
struct ReconnectBackoff {
    static let delayMin = Duration.milliseconds(100)
    static let delayMax = Duration.seconds(10)
    private static let doublingsMax = 7

    private var failures = 0
    private(set) var notBefore = ContinuousClock.now

    mutating func recordSuccess() {
        failures = 0
        notBefore = .now
    }

    mutating func recordFailure(at time: ContinuousClock.Instant, jitter: Double) {
        notBefore = time + Self.delay(afterFailures: failures, jitter: jitter)
        failures = min(failures + 1, Self.doublingsMax)
    }

    /// - Parameter jitter: a random number between 0 and 1.
    static func delay(afterFailures failures: Int, jitter: Double) -> Duration {
        let full = min(delayMax, delayMin * (1 << failures))
        return full / 2 + full / 2 * jitter
    }
}
