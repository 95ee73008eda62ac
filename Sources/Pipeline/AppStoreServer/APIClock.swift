package import AppStore
import Platform

/// The wall clock, the uptime clock and the delays of a client.
package struct APIClock: Sendable {
    package var now: @Sendable () -> Timestamp
    /// The time since an arbitrary fixed instant, by a clock that is never adjusted.
    package var uptime: @Sendable () -> Duration
    /// Waits for a duration; throws if the task is cancelled.
    package var sleep: @Sendable (Duration) async throws -> Void

    package static var system: APIClock {
        let beginning = ContinuousClock.now
        return APIClock(
            now: { Timestamp(milliseconds: WallClock.milliseconds) }, uptime: { ContinuousClock.now - beginning },
            sleep: { try await Task.sleep(for: $0) })
    }
}
