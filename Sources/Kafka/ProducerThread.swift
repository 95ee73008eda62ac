import CRDKafka
import Synchronization
import Threads

/// Serves a producer's delivery reports and other callbacks on a thread of its own.
actor ProducerThread {
    private let executor = ThreadExecutor(name: "kafka-produce")
    private nonisolated let isStopped = Atomic(false)

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// Runs until `stop()`.
    func serve(_ client: ClientHandle) {
        while !isStopped.load(ordering: .acquiring) {
            _ = unsafe rd_kafka_poll(client.pointer, 100)
        }
    }

    /// Sends and serves what is left until nothing is, or the deadline has come.
    ///
    /// What remains then is reported as purged. Runs after `serve(_:)`.
    func drain(_ client: ClientHandle, deadline: Duration) -> Bool {
        let milliseconds = deadline.millisecondsClamped
        let code = unsafe rd_kafka_flush(client.pointer, milliseconds)
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return true }
        let everything = Int32(RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
        _ = unsafe rd_kafka_purge(client.pointer, everything)
        _ = unsafe rd_kafka_flush(client.pointer, Self.purgeMilliseconds)
        return false
    }

    private static let purgeMilliseconds: Int32 = 1_000

    nonisolated func stop() {
        isStopped.store(true, ordering: .releasing)
    }

    func end() {
        executor.stop()
    }
}
