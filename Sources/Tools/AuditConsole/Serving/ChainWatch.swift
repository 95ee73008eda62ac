import AppStore
package import DeadLetters
import Synchronization
import Telemetry

/// Walks the hash chains at intervals for the overview.
package final class ChainWatch: Sendable {
    /// The result of the last complete walk.
    struct State: Sendable {
        /// The time at which that walk ended.
        ///
        /// `nil` if no walk has been complete yet.
        private(set) var at: Timestamp?
        private(set) var report: ChainReport?
        /// The time of the last walk, if it failed.
        private(set) var failedAt: Timestamp?

        mutating func walked(_ report: ChainReport?, _ now: Timestamp) {
            guard let report else { return failedAt = now }
            self = State(at: now, report: report)
        }
    }

    private static let interval = Duration.seconds(900)

    private let walk: @Sendable () async throws -> ChainReport
    private let last = Mutex<State?>(nil)

    package init(_ walk: @escaping @Sendable () async throws -> ChainReport) { self.walk = walk }

    /// The state after the last walk.
    ///
    /// `nil` before the first walk has ended.
    var state: State? { last.withLock { $0 } }

    /// Runs until the task is cancelled.
    func run(now: @Sendable () -> Timestamp, log: Log) async {
        while !Task.isCancelled {
            var report: ChainReport?
            do { report = try await walk() } catch {
                log.warning("hash chains not read, retrying in 15 minutes", ["error": .string("\(error)")])
            }
            last.withLock { last in
                var state = last ?? State()
                state.walked(report, now())
                last = state
            }
            try? await Task.sleep(for: Self.interval)
        }
    }
}
