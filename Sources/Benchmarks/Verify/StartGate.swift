import Foundation

/// Holds threads back until all of them have come.
final class StartGate: Sendable {
    private let condition = NSCondition()
    private nonisolated(unsafe) var missing: Int

    init(threads: Int) {
        missing = threads
    }

    /// Returns when as many threads as the gate waits for have called it.
    func pass() {
        condition.withLock {
            missing -= 1
            guard missing > 0 else { return condition.broadcast() }
            while missing > 0 {
                condition.wait()
            }
        }
    }
}
