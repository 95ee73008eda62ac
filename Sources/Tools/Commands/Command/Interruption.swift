import Dispatch
import Glibc
import Settings

/// Ends a command on Ctrl-C or SIGTERM like an error, so that everything it started is stopped.
package enum Interruption {
    /// Runs `body` in a task that the first signal cancels.
    ///
    /// The second signal ends the process at once; the watchdog of its children then stops them.
    package static func cancelling<T: Sendable>(_ body: @escaping @Sendable () async throws -> T) async throws -> T {
        let task = Task { try await body() }
        let sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                if task.isCancelled { _exit(ExitCode.interrupted) }
                task.cancel()
            }
            source.resume()
            return source
        }
        defer {
            for (number, source) in zip([SIGINT, SIGTERM], sources) {
                source.cancel()
                signal(number, SIG_DFL)
            }
        }
        return try await task.value
    }

    /// Waits for a signal; call it within `cancelling`.
    package static func wait() async {
        let (stream, continuation) = AsyncStream<Never>.makeStream()
        for await _ in stream {}
        continuation.finish()
    }
}
