/// A serial executor that owns one thread, for actors that wrap blocking C libraries.
///
/// Jobs run in the order in which they were enqueued, all on the same thread, so a call that blocks
/// for a second blocks nobody but its own actor: the cooperative pool keeps its threads. The thread
/// ends after `stop()`, when every job enqueued before has run; a job that comes later still runs,
/// on a thread started for the rest, because an actor's continuation must never be dropped.
package final class ThreadExecutor: SerialExecutor {
    private let queue: JobQueue

    /// Starts the thread.
    ///
    /// - Parameter name: shown by debuggers and `ps -L`; the kernel keeps its first 15 bytes.
    package init(name: String) {
        queue = JobQueue(name: name)
        queue.startThread(running: asUnownedSerialExecutor())
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        queue.append(UnownedJob(job), runningOn: asUnownedSerialExecutor())
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    /// Traps when the current thread is not this executor's.
    package func checkIsolated() {
        precondition(queue.isCurrentThread, "called from a thread that is not this executor's own")
    }

    /// Lets the thread end once the jobs enqueued so far have run.
    package func stop() { queue.stop() }

    deinit { queue.stop() }
}
