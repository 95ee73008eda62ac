import AppStore
package import DeadLetters
import Synchronization
import Telemetry

/// Walks the hash chains at intervals for the overview.
package final class ChainWatch: Sendable {
    /// The result of the last walk, and its time.
    struct State: Sendable {
        let at: Timestamp
        /// Nil if the walk failed.
        let report: ChainReport?
    }

    private static let interval = Duration.seconds(900)

    private let walk: @Sendable () async throws -> ChainReport
    private let last = Mutex<State?>(nil)

    package init(_ walk: @escaping @Sendable () async throws -> ChainReport) {
        self.walk = walk
    }

    /// Nil before the first walk has ended.
    var state: State? { last.withLock { $0 } }

    /// Runs until the task is cancelled.
    func run(now: @Sendable () -> Timestamp, log: Log) async {
        while !Task.isCancelled {
            var report: ChainReport?
            do {
                report = try await walk()
            } catch {
                log.warning(
                    "hash chains not read, retrying in 15 minutes",
                    ["error": .string("\(error)")]
                )
            }
            last.withLock { $0 = State(at: now(), report: report) }
            try? await Task.sleep(for: Self.interval)
        }
    }
}
