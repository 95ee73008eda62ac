import Commands
package import Store
import Synchronization

/// The rate and the limits of a replay.
package struct ReplayLimits: Sendable, Equatable {
    /// Maximum records per second.
    package var rate = 100
    /// Maximum share of the last hundred that is refused again, above which the replay stops; 0
    /// stops at the first one.
    package var failingShareMax = 0.1
    /// Maximum wait without a decision before the replay is interrupted: workers may be down, or a
    /// breaker may have tripped.
    package var waitMax = Duration.seconds(300)

    package init() {}

    /// `waitMax` as messages show it.
    var waitText: String { Quantity.span(milliseconds: Int64(waitMax / .milliseconds(1))) }

    package static let rates = 1...10_000
    package static let waits = Duration.seconds(1)...(.seconds(86_400))
}

/// A request to a running replay to end in order, from any task.
package final class ReplayStop: Sendable {
    private let requested = Mutex<String?>(nil)

    package init() {}

    /// The first request counts.
    ///
    /// - Parameter why: for the history.
    package func request(_ why: String) { requested.withLock { $0 = $0 ?? why } }

    var why: String? { requested.withLock(\.self) }
}

/// The result or the progress of a replay's run.
package struct ReplayProgress: Sendable, Equatable {
    package let number: Int64
    package let state: ReplayState
    package let count: Int
    package let counts: ReplayCounts
    /// The reason for an end before everything was decided; empty otherwise.
    package let note: String

    package var isAllAccepted: Bool { state == .completed && counts.accepted == Int64(count) }
}
