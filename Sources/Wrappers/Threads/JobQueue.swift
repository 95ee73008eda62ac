/// The jobs of one `ThreadExecutor`, and the thread that runs them.
///
/// The queue is apart from the executor, so that the thread does not keep the executor alive. Every mutable field is
/// read and written under `condition`.
final class JobQueue: @unchecked Sendable {
    private let name: String
    private let condition = Condition()
    private var jobs: [UnownedJob] = []
    private var isStopped = false
    /// Whether a thread runs the jobs, and which thread, once the thread has begun.
    private var isRunning = false
    private var thread: UInt?

    init(name: String) { self.name = name }

    var isCurrentThread: Bool { condition.withLock { thread == OwnThread.current } }

    func startThread(running executor: UnownedSerialExecutor) { condition.withLock { start(running: executor) } }

    func append(_ job: UnownedJob, runningOn executor: UnownedSerialExecutor) {
        condition.withLock {
            jobs.append(job)
            if !isRunning { start(running: executor) }
            condition.signal()
        }
    }

    func stop() {
        condition.withLock {
            isStopped = true
            condition.signal()
        }
    }

    /// Starts the thread; called with `condition` held.
    private func start(running executor: UnownedSerialExecutor) {
        isRunning = true
        let isStarted = OwnThread.start(name: name, stackBytes: Self.stackBytes) { [self] in run(on: executor) }
        precondition(isStarted, "the system starts no more threads")
    }

    private static let stackBytes = 1 << 20

    private func run(on executor: UnownedSerialExecutor) {
        condition.withLock { thread = OwnThread.current }
        while let batch = next() { for job in batch { job.runSynchronously(on: executor) } }
    }

    /// Waits for jobs.
    ///
    /// `nil` ends the thread, whose end is then already recorded.
    private func next() -> [UnownedJob]? {
        condition.withLock {
            while jobs.isEmpty {
                if isStopped {
                    thread = nil
                    isRunning = false
                    return nil
                }
                condition.wait()
            }
            let batch = jobs
            jobs.removeAll(keepingCapacity: true)
            return batch
        }
    }
}
