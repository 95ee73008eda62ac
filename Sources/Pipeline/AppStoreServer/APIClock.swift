package import AppStore
import Platform

/// The time of day and the waits of a client.
package struct APIClock: Sendable {
    package var now: @Sendable () -> Timestamp
    /// A time that nobody sets, from any beginning.
    package var uptime: @Sendable () -> Duration
    /// Throws if the task is cancelled.
    package var sleep: @Sendable (Duration) async throws -> Void

    package static var system: APIClock {
        let beginning = ContinuousClock.now
        return APIClock(
            now: { Timestamp(milliseconds: WallClock.milliseconds) }, uptime: { ContinuousClock.now - beginning },
            sleep: { try await Task.sleep(for: $0) })
    }
}
