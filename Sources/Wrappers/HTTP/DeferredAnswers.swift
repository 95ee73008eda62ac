import Threads

/// The tasks that answer suspended connections: their number is bounded, and the server waits for them at its end.
final class DeferredAnswers: @unchecked Sendable {
    private let countMax: Int
    private let condition = Condition()
    /// The running tasks, read and written under `condition`.
    private var tasks: [ObjectIdentifier: Task<Void, Never>] = [:]
    private var isStopped = false

    init(countMax: Int) { self.countMax = countMax }

    static let busy = HTTPResponse.text("too many requests at once: try again\n", status: 503)

    /// Suspends the connection and answers it in its own task.
    ///
    /// - Returns: the response to send at once if too many tasks run or the server stops.
    func start(_ connection: borrowing HTTPConnection, _ exchange: HTTPExchange, by answer: @escaping HTTPServer.Answer)
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

    /// Cancels all tasks, and returns when no task runs and none can start.
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
