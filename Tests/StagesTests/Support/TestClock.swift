import AppStore
import Foundation
import Synchronization

/// A wall clock that a test advances.
final class TestClock: Sendable {
    private let milliseconds: Atomic<Int64>

    /// Begins at the real time, which real servers use for answers.
    init() { milliseconds = Atomic(Int64(Date.now.timeIntervalSince1970 * 1_000)) }

    var now: Timestamp { Timestamp(milliseconds: milliseconds.load(ordering: .acquiring)) }

    func advance(by duration: Duration) {
        milliseconds.add(Int64(duration / .milliseconds(1)), ordering: .acquiringAndReleasing)
    }
}
