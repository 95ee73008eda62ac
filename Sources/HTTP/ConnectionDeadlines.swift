import Foundation
import Synchronization

/// Ends connections that outlive their deadline, from a thread that sleeps while there is none.
///
/// The library's own timeout counts silence only, so a client that sends a byte now and then could
/// hold a connection for ever. A connection is shut down here, never closed: the library then finds
/// it at its end, and announces that before it closes the descriptor, so no number is reused while
/// it stands in this table.
final class ConnectionDeadlines: @unchecked Sendable {
    private let durationMax: TimeInterval
    private let condition = NSCondition()
    private var ends: [Int32: Date] = [:]
    private var isStopped = false

    init(durationMax: Duration) {
        let (seconds, attoseconds) = durationMax.components
        self.durationMax = TimeInterval(seconds) + TimeInterval(attoseconds) / 1e18
    }

    func start() {
        let thread = Thread { [self] in run() }
        thread.name = "http-deadlines"
        thread.stackSize = 256 * 1024
        thread.start()
    }

    func stop() {
        condition.withLock {
            isStopped = true
            condition.signal()
        }
    }

    func began(_ descriptor: Int32) {
        condition.withLock {
            ends[descriptor] = Date(timeIntervalSinceNow: durationMax)
            condition.signal()
        }
    }

    func ended(_ descriptor: Int32) {
        condition.withLock {
            ends[descriptor] = nil
        }
    }

    private func run() {
        condition.withLock {
            while !isStopped {
                let now = Date()
                for (descriptor, end) in ends where end <= now {
                    shutdown(descriptor, Int32(SHUT_RDWR))
                    ends[descriptor] = nil
                }
                if let next = ends.values.min() {
                    _ = condition.wait(until: next)
                } else {
                    condition.wait()
                }
            }
        }
    }
}
