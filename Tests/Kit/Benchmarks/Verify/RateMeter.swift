import Foundation
import Synchronization

/// Counts how often a piece of work is done in a given time, on one thread or several.
enum RateMeter {
    struct Rate {
        /// Calls per second of elapsed time, all threads together.
        var perSecond = 0.0
        /// Processor time of one piece of work, which other programs on the machine move little.
        var cpuMicroseconds = 0.0
    }

    /// Steps between two readings of the clock: a step takes tens of microseconds, a reading a few
    /// dozen ns.
    private static let stepsPerLook = 16

    /// Makes the work on each thread, starts all threads together, and returns what they did.
    ///
    /// - Parameter makeWork: called on each thread; the work gets the number of its call.
    static func rate(threads: Int, duration: Duration, _ makeWork: @escaping @Sendable () -> (Int) -> Void) -> Rate {
        let total = Mutex(Rate())
        let missing = Atomic(threads)
        let group = DispatchGroup()
        for _ in 0..<threads {
            group.enter()
            Thread.detachNewThread {
                let work = makeWork()
                // The first calls fill caches, tables and the branch predictor.
                for index in 0..<Self.stepsPerLook { work(index) }
                missing.subtract(1, ordering: .acquiringAndReleasing)
                while missing.load(ordering: .acquiring) > 0 { sched_yield() }
                let rate = run(work, for: duration)
                total.withLock { total in
                    total.perSecond += rate.perSecond
                    total.cpuMicroseconds += rate.cpuMicroseconds / Double(threads)
                }
                group.leave()
            }
        }
        group.wait()
        return total.withLock { $0 }
    }

    private static func run(_ work: (Int) -> Void, for duration: Duration) -> Rate {
        let clock = ContinuousClock()
        let start = clock.now
        let cpuStart = threadMicroseconds()
        var count = 0
        while true {
            for _ in 0..<stepsPerLook {
                work(count)
                count += 1
            }
            let elapsed = clock.now - start
            guard elapsed < duration else {
                return Rate(
                    perSecond: Double(count) / (elapsed / .seconds(1)),
                    cpuMicroseconds: (threadMicroseconds() - cpuStart) / Double(count))
            }
        }
    }

    private static func threadMicroseconds() -> Double {
        var time = timespec()
        let status = clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        precondition(status == 0, "the system measures no thread's processor time")
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }
}
