import Glibc

/// A lock with a condition variable (pthread_cond_wait(3)), for threads that block in C libraries; tasks never block
/// on it.
///
/// A wait may end without a signal, so the caller checks its condition again after each wait.
@safe package final class Condition: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    package init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe condition.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        // Nobody sets the monotonic clock, so no change of a clock moves a deadline.
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        let isMade = unsafe pthread_mutex_init(mutex, nil) == 0 && pthread_cond_init(condition, &attributes) == 0
        precondition(isMade, "the system has no room for a lock")
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    package func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body()
    }

    /// Wakes one waiting thread.
    package func signal() { unsafe pthread_cond_signal(condition) }

    /// Wakes all waiting threads.
    package func broadcast() { unsafe pthread_cond_broadcast(condition) }

    /// Releases the lock until a thread signals; called with the lock held.
    package func wait() { unsafe pthread_cond_wait(condition, mutex) }

    /// Waits as `wait()` does, for at most `limit`.
    package func wait(atMost limit: Duration) {
        var end = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &end)
        let (seconds, attoseconds) = max(.zero, min(limit, Self.waitMax)).components
        let nanoseconds = end.tv_nsec + Int(attoseconds / 1_000_000_000)
        end.tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
        end.tv_nsec = nanoseconds % 1_000_000_000
        unsafe pthread_cond_timedwait(condition, mutex, &end)
    }

    private static let waitMax = Duration.seconds(24 * 3_600)
}
