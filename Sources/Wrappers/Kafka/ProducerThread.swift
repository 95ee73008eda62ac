import CRDKafka
import Synchronization
import Threads

/// Serves a producer's delivery reports and other callbacks on its own thread.
actor ProducerThread {
    private struct Flushing {
        var isRequested = false
        var isUnderWay = false
        var isOver = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let executor = ThreadExecutor(name: "kafka-produce")
    private nonisolated let isStopped = Atomic(false)
    private nonisolated let flushing = Mutex(Flushing())

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// Runs until `stop()`.
    func serve(_ client: ClientHandle) {
        while !isStopped.load(ordering: .acquiring) {
            if beginsFlush() {
                // Serves reports too, and returns once all have arrived; at the timeout the remaining records have
                // lingered as long as they may.
                _ = unsafe rd_kafka_flush(client.pointer, Self.turnMilliseconds)
                endFlush()
            } else {
                _ = unsafe rd_kafka_poll(client.pointer, Self.turnMilliseconds)
            }
        }
        flushing.withLock { $0.isOver = true }
        endFlush()
    }

    /// Makes `serve(_:)` flush.
    nonisolated func flush(_ client: ClientHandle) {
        flushing.withLock { $0.isRequested = true }
        let queue = unsafe rd_kafka_queue_get_main(client.pointer)
        unsafe rd_kafka_queue_yield(queue)
        unsafe rd_kafka_queue_destroy(queue)
    }

    /// Returns when no flush is requested or running.
    ///
    /// During a flush librdkafka would send each record singly as it is enqueued.
    nonisolated func flushed() async {
        await withCheckedContinuation { continuation in
            let mustWait = flushing.withLock { flushing in
                guard flushing.isRequested || flushing.isUnderWay, !flushing.isOver else { return false }
                flushing.waiting.append(continuation)
                return true
            }
            if !mustWait { continuation.resume() }
        }
    }

    private func beginsFlush() -> Bool {
        flushing.withLock { flushing in
            guard flushing.isRequested else { return false }
            flushing.isRequested = false
            flushing.isUnderWay = true
            return true
        }
    }

    private func endFlush() {
        let waiting = flushing.withLock { flushing in
            flushing.isUnderWay = false
            defer { flushing.waiting = [] }
            return flushing.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Sends the remaining records and serves their reports, until none remains or the deadline has passed.
    ///
    /// Records that remain at the deadline are reported as purged. Runs after `serve(_:)`.
    func drain(_ client: ClientHandle, deadline: Duration) -> Bool {
        let milliseconds = deadline.millisecondsClamped
        let code = unsafe rd_kafka_flush(client.pointer, milliseconds)
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return true }
        client.callbacks.isClosing.store(true, ordering: .releasing)
        let everything = Int32(RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
        _ = unsafe rd_kafka_purge(client.pointer, everything)
        _ = unsafe rd_kafka_flush(client.pointer, Self.purgeMilliseconds)
        return false
    }

    private static let turnMilliseconds: Int32 = 100
    private static let purgeMilliseconds: Int32 = 1_000

    nonisolated func stop() { isStopped.store(true, ordering: .releasing) }

    func end() { executor.stop() }
}
