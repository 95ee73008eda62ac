import Platform
import Synchronization

/// A clock that runs as fast as a test wants, or stands still until it is moved.
package final class SimulatedClock: Sendable {
    private let speed: Double
    private let began = WallClock.milliseconds
    /// The time shown at `began`.
    private let start: Mutex<Int64>

    /// - Parameters:
    ///   - start: the first time it shows, in milliseconds since 1970.
    ///   - speed: its hours in an hour; with 0 it stands, with 1 it is the machine's own clock.
    package init(start: Int64 = WallClock.milliseconds, speed: Double = 1) {
        self.speed = speed
        self.start = Mutex(start)
    }

    /// Milliseconds since 1970.
    package var now: Int64 {
        let elapsed = Double(WallClock.milliseconds - began) * speed
        return start.withLock { $0 } + Int64(elapsed)
    }

    package func advance(by step: Duration) { start.withLock { $0 += Int64(step / .milliseconds(1)) } }
}
