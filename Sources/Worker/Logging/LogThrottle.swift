import Synchronization

/// Lets an event through at most once per interval, and counts what it held back.
///
/// ```swift
/// if let suppressed = throttle.pass() { log.warning("…", ["log.suppressed": .int(suppressed)]) }
/// ```
package final class LogThrottle: Sendable {
    private struct State {
        var next: ContinuousClock.Instant?
        var suppressed = 0
    }

    private let interval: Duration
    private let state = Mutex(State())

    package init(interval: Duration) {
        self.interval = interval
    }

    /// The number of events held back since the last one that passed; nil when this one is held.
    package func pass(at now: ContinuousClock.Instant = .now) -> Int? {
        state.withLock { state in
            if let next = state.next, now < next {
                state.suppressed += 1
                return nil
            }
            let suppressed = state.suppressed
            state = State(next: now + interval)
            return suppressed
        }
    }
}
