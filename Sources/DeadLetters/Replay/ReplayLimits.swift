import Synchronization
package import Store

/// How fast and how far a replay may go.
package struct ReplayLimits: Sendable, Equatable {
    /// Records per second at most.
    package var rate = 100
    /// It stops where a larger share of the last hundred is refused again; 0 at the first one.
    package var failingShareMax = 0.1
    /// How long nothing may be decided before the replay is interrupted: workers that are down, or
    /// whose breaker has tripped.
    package var waitMax = Duration.seconds(300)

    package init() {}

    package static let rates = 1...10_000
    package static let waits = Duration.seconds(1)...(.seconds(86_400))
}

/// A request to a running replay to end in good order, from any task.
package final class ReplayStop: Sendable {
    private let requested = Mutex<String?>(nil)

    package init() {}

    /// The first one counts.
    ///
    /// - Parameter why: for the history.
    package func request(_ why: String) {
        requested.withLock { $0 = $0 ?? why }
    }

    var why: String? { requested.withLock(\.self) }
}

/// How a run of a replay ended, or where it stands.
package struct ReplayProgress: Sendable, Equatable {
    package let number: Int64
    package let state: ReplayState
    package let count: Int
    package let counts: ReplayCounts
    /// Why it ended before everything was decided; empty otherwise.
    package let note: String

    /// Whether every record was sent and accepted.
    package var isAllAccepted: Bool {
        state == .completed && counts.accepted == Int64(count)
    }
}
