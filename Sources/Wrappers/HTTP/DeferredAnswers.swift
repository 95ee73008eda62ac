import Threads

/// The tasks that answer suspended connections: bounded, and waited for at the end.
final class DeferredAnswers: @unchecked Sendable {
    private let countMax: Int
    private let condition = Condition()
    /// Read and written under `condition`.
    private var tasks: [ObjectIdentifier: Task<Void, Never>] = [:]
    private var isStopped = false

    init(countMax: Int) { self.countMax = countMax }

    static let busy = HTTPResponse.text("too many requests at once: try again\n", status: 503)

    /// Suspends the connection and answers it in a task of its own.
    ///
    /// - Returns: what is answered at once instead, as too many tasks run or the server stops.
    func start(_ connection: borrowing HTTPConnection, _ exchange: HTTPExchange, _ answer: @escaping HTTPServer.Answer)
        -> HTTPResponse?
    {
        condition.withLock {
            guard !isStopped, tasks.count < countMax else { return Self.busy }
            let suspended = connection.suspend()
            let request = exchange.request
            tasks[ObjectIdentifier(exchange)] = Task {
                exchange.response = await answer(request)
                suspended.resume()
                self.ended(exchange)
            }
            return nil
        }
    }

    /// Cancels all tasks, and returns when none runs and none will.
    func stop() {
        condition.withLock {
            isStopped = true
            tasks.values.forEach { $0.cancel() }
            while !tasks.isEmpty { condition.wait() }
        }
    }

    private func ended(_ exchange: HTTPExchange) {
        condition.withLock {
            tasks[ObjectIdentifier(exchange)] = nil
            condition.broadcast()
        }
    }
}
