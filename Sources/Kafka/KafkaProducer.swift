import CRDKafka
import Synchronization
import Threads

/// An idempotent producer: each record is written once and in order, or reported as failed.
///
/// What librdkafka can repeat it repeats, for `message.timeout.ms`; a record that failed for
/// another reason than itself is to be sent again by the caller. After a fatal error
/// (`fatalError`) the producer takes nothing more and has to be made anew.
package final class KafkaProducer: Sendable {
    private let shared: SharedClient
    private let thread = ProducerThread()
    private let topics: TopicHandles
    /// What was enqueued last.
    private let latest = Mutex<Delivery?>(nil)
    private let patience: Duration

    /// Makes the client; no connection is waited for.
    ///
    /// - Parameters:
    ///   - configuration: librdkafka's properties, laid over `defaults`.
    ///   - patience: how long records wait at most for those that were enqueued before them.
    package init(
        configuration: [String: String],
        handlers: KafkaHandlers = KafkaHandlers(),
        patience: Duration = .milliseconds(250)
    ) throws(KafkaError) {
        self.patience = patience
        let properties = Self.defaults.merging(configuration) { $1 }
            .merging(Self.promised) { $1 }
        let client = try ClientHandle.producer(properties, handlers: handlers)
        shared = SharedClient(client)
        topics = TopicHandles(client)
        Task { [thread] in await thread.serve(client) }
    }

    /// What the pipeline's promises rest on: not to be configured away.
    package static let promised: [String: String] = [
        "enable.idempotence": "true",
        "acks": "all",
    ]

    /// Bounds on what is held for sending; compression and requests that suit whole batches.
    package static let defaults: [String: String] = [
        "compression.type": "lz4",
        "partitioner": "murmur2_random",
        "linger.ms": "5",
        "batch.size": "1000000",
        "message.max.bytes": "3300000",
        "message.timeout.ms": "60000",
        "queue.buffering.max.kbytes": "8192",
        "queue.buffering.max.messages": "20000",
        "topic.metadata.refresh.interval.ms": "60000",
        "topic.metadata.propagation.max.ms": "10000",
        "reconnect.backoff.max.ms": "2000",
        "log.connection.close": "false",
    ]

    /// Why this producer can do no more, if so.
    package var fatalError: KafkaError? { shared.client?.fatalError }

    /// Copies the records into librdkafka's queue, in order; waits while that is full, and a while
    /// for those that were enqueued before to be reported on.
    ///
    /// An idempotent producer has one request of a partition on its way, and as long as more waits
    /// behind it, librdkafka's thread asks without a pause whether it may be sent: a slow broker
    /// would cost a whole core.
    ///
    /// Call it from one task at a time where the order matters.
    package func enqueue(_ records: [ProducerRecord]) async -> Delivery {
        let delivery = Delivery(count: records.count)
        guard !records.isEmpty else { return delivery }
        let before = latest.withLock { latest in
            defer { latest = delivery }
            return latest
        }
        await before?.settled(within: patience)
        let tickets = DeliveryTickets(delivery, count: records.count)
        for index in records.indices {
            if let error = await enqueue(records[index], tickets, index) {
                delivery.settle(index, offset: -1, error: error)
            }
        }
        return delivery
    }

    /// Sends and waits until each record is acknowledged or has failed.
    package func send(_ records: [ProducerRecord]) async -> DeliveryReport {
        await enqueue(records).report()
    }

    private func enqueue(
        _ record: ProducerRecord,
        _ tickets: DeliveryTickets,
        _ index: Int
    ) async -> KafkaError? {
        while true {
            guard let client = shared.client else { return .closed("producer") }
            guard let topic = unsafe topics.handle(record.topic) else {
                return .closed("producer")
            }
            guard let error = unsafe client.produce(record, to: topic, tickets, index) else {
                return nil
            }
            guard error.code == .queueFull else { return error }
            // The producer's thread makes room as reports come in.
            try? await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Sends what is queued, at most until the deadline, and ends the client; what is not
    /// acknowledged then is reported as `.purged`.
    ///
    /// - Returns: whether everything was acknowledged or had failed by then.
    @discardableResult
    package func close(deadline: Duration) async -> Bool {
        guard let client = shared.client else { return true }
        shared.close()
        thread.stop()
        let isDrained = await thread.drain(client, deadline: deadline)
        topics.close()
        await thread.end()
        return isDrained
    }

    deinit {
        thread.stop()
    }
}

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
