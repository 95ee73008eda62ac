import Commands
package import Store
import Synchronization

/// The rate and the limits of a replay.
package struct ReplayLimits: Sendable, Equatable {
    /// Maximum records per second.
    package var rate = 100
    /// Maximum share of refusals among the last hundred decisions, above which the replay stops; 0
    /// stops at the first refusal.
    package var failingShareMax = 0.1
    /// Maximum wait without a decision before the replay is interrupted: workers may be down, or a
    /// breaker may have tripped.
    package var waitMax = Duration.seconds(300)

    package init() {}

    /// The text of `waitMax` for messages.
    var waitText: String { Quantity.span(milliseconds: Int64(waitMax / .milliseconds(1))) }

    package static let rates = 1...10_000
    package static let waits = Duration.seconds(1)...(.seconds(86_400))
}

/// A request to a running replay to end in order, from any task.
package final class ReplayStop: Sendable {
    private let requested = Mutex<String?>(nil)

    package init() {}

    /// Requests the end; later requests are ignored.
    ///
    /// - Parameter why: the reason, for the history.
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
