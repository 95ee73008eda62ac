import Synchronization

/// A wait for a server's answer; a long wait is reported to the person who runs a command.
///
/// The wait ends with `answered()`, or when its last owner releases it: then the command's own error reports the
/// outcome.
package final class ServerWait: Sendable {
    private enum State { case silent, reported, over }

    /// Receives each line.
    ///
    /// The struct exists because in Swift 6.3 an optimized program crashes if a task-local value is itself a closure.
    private struct Reporter: Sendable { let report: @Sendable (String) -> Void }

    /// The receiver of the lines about a command's waits.
    ///
    /// `nil` in services, which log such waits.
    @TaskLocal private static var reporter: Reporter?

    /// Runs `body` and reports its waits, on any thread.
    package static func reporting<T>(to report: @escaping @Sendable (String) -> Void, _ body: () async throws -> T)
        async rethrows -> T
    { try await $reporter.withValue(Reporter(report: report), operation: body) }

    private let server: String
    private let limit: Duration?
    private let report: @Sendable (String) -> Void
    private let state = Mutex(State.silent)

    /// Begins a wait.
    ///
    /// `nil` if waits are not reported.
    ///
    /// - Parameters:
    ///   - server: the server's kind and address, such as `Kafka at localhost:9092`, without a password.
    ///   - limit: the time after which the caller gives up; `nil` if the time varies.
    ///   - patience: the time before the wait is reported.
    package static func begin(
        for server: @autoclosure () -> String, within limit: Duration? = nil, patience: Duration = .seconds(2)
    ) -> ServerWait? {
        guard let reporter else { return nil }
        let wait = ServerWait(server(), limit: limit, report: reporter.report)
        Task.detached { [weak wait] in
            try? await Task.sleep(for: patience)
            wait?.reportWait()
        }
        return wait
    }

    private init(_ server: String, limit: Duration?, report: @escaping @Sendable (String) -> Void) {
        self.server = server
        self.limit = limit
        self.report = report
    }

    private func reportWait() {
        let limit = limit.map { ", \(Int64(($0 / .seconds(1)).rounded(.up))) s at most" } ?? ""
        // Holds the lock, so that no answer is reported before the wait.
        state.withLock { state in
            guard state == .silent else { return }
            state = .reported
            report("waiting for \(server)\(limit)")
        }
    }

    /// Ends the wait; reports the end if the wait was reported.
    package func answered() {
        state.withLock { state in
            if state == .reported { report("\(server) answers") }
            state = .over
        }
    }
}
