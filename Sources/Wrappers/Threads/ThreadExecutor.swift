/// A serial executor that owns one thread, for actors that wrap blocking C libraries.
///
/// Jobs run in the order in which they were enqueued, all on the same thread. A blocking call therefore blocks only
/// its own actor, and no thread of the cooperative pool. The thread ends after `stop()`, when every job enqueued
/// before has run. A later job still runs, on a new thread, because an actor's continuation must never be dropped.
package final class ThreadExecutor: SerialExecutor {
    private let queue: JobQueue

    /// Starts the thread.
    ///
    /// - Parameter name: the name in debuggers and `ps -L`; the kernel keeps its first 15 bytes.
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
