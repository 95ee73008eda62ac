import CRDKafka
package import Platform
import Synchronization

/// An idempotent producer: each record is written once and in order, or reported as failed.
///
/// librdkafka retries for `message.timeout.ms`. A record that it reports as delivered without an offset is sent again,
/// after other records. If a record failed for a reason outside itself, the caller sends it again. After a fatal error
/// (`fatalError`) the producer accepts no record and must be recreated.
package final class KafkaProducer: Sendable {
    private let shared: SharedClient
    private let thread = ProducerThread()
    private let topics: TopicHandles
    /// The latest enqueued delivery.
    private let latest = Mutex<Delivery?>(nil)
    private let patience: Duration
    /// Maximum bytes in one request of a partition.
    private let requestBytesMax: Int

    /// Creates the client without waiting for a connection.
    ///
    /// - Parameters:
    ///   - configuration: librdkafka's properties, which override `defaults`.
    ///   - isUncompressed: whether a topic's records are sent uncompressed. A broker that stores a topic with its own
    ///     codec rewrites other batches, and replaces invalid UTF-8 in the names of headers. A codec in `configuration`
    ///     applies to all topics.
    ///   - patience: maximum time for which records wait for earlier records.
    package init(
        configuration: [String: String], isUncompressed: @escaping @Sendable (String) -> Bool = { _ in false },
        handlers: KafkaHandlers = KafkaHandlers(), patience: Duration = .milliseconds(250)
    ) throws(KafkaError) {
        self.patience = patience
        let properties = Self.defaults.merging(configuration) { $1 }.merging(Self.promised) { $1 }
        requestBytesMax = properties["batch.size"].flatMap { Int($0) } ?? .max
        let client = try ClientHandle.producer(properties, handlers: handlers)
        shared = SharedClient(client)
        let hasCodec = configuration["compression.type"] != nil || configuration["compression.codec"] != nil
        topics = TopicHandles(client) { topic in !hasCodec && isUncompressed(topic) }
        Task { [thread] in await thread.serve(client) }
    }

    /// Properties that the pipeline's guarantees depend on; no configuration can change them.
    package static let promised: [String: String] = ["enable.idempotence": "true", "acks": "all"]

    /// Bounds on the records held for sending; compression and request sizes that suit whole batches.
    ///
    /// Records linger only until the last record of their batch is enqueued: `enqueue(_:)` then sends them.
    package static let defaults: [String: String] = [
        "compression.type": "lz4", "partitioner": "murmur2_random", "linger.ms": "100", "batch.size": "1000000",
        "message.max.bytes": "3300000",
        // A larger value is compressed directly from its memory, without a copy in the queue.
        "message.copy.max.bytes": "512", "message.timeout.ms": "60000", "queue.buffering.max.kbytes": "8192",
        "queue.buffering.max.messages": "20000", "topic.metadata.refresh.interval.ms": "60000",
        "topic.metadata.propagation.max.ms": "10000", "reconnect.backoff.max.ms": "2000",
        "log.connection.close": "false",
    ]

    /// The error after which this producer is unusable.
    ///
    /// `nil` without such an error.
    package var fatalError: KafkaError? { shared.client?.fatalError }

    /// Begins a wait for the brokers' acknowledgement.
    ///
    /// `nil` if waits are not reported.
    package func wait() -> ServerWait? { shared.client?.wait() }

    /// Copies the records into librdkafka's queue, in order, and sends them at once.
    ///
    /// Waits while the queue is full, and for a limited time until earlier records have their reports.
    ///
    /// An idempotent producer has one request of a partition in flight, unless the request is tiny. If more records
    /// wait behind that request for longer than `linger.ms`, librdkafka's thread polls without a pause whether it may
    /// send them: a slow broker would cost a whole core. So as many records as fit into one request, even of one
    /// partition, are enqueued before the first is sent; other records wait.
    ///
    /// Call it from one task at a time if the order matters.
    package func enqueue(_ records: [ProducerRecord]) async -> Delivery {
        let delivery = Delivery(count: records.count)
        guard !records.isEmpty else { return delivery }
        let before = latest.withLock { latest in
            defer { latest = delivery }
            return latest
        }
        await before?.settled(within: patience)
        await thread.flushed()
        let tickets = DeliveryTickets(delivery, count: records.count)
        var bytes = 0
        for index in records.indices {
            let size = records[index].batchBytesMax
            if bytes > 0, bytes + size > requestBytesMax {
                flush()
                await delivery.settled(index, within: patience)
                await thread.flushed()
                bytes = 0
            }
            bytes += size
            while let error = produce(records[index], tickets, at: index) {
                guard error.code == .queueFull else {
                    delivery.settle(index, offset: -1, error: error)
                    break
                }
                // The producer's thread frees room as delivery reports arrive.
                flush()
                try? await Task.sleep(for: .milliseconds(2))
            }
        }
        flush()
        return delivery
    }

    /// Makes librdkafka send the enqueued records without waiting for further records.
    private func flush() { if let client = shared.client { thread.flush(client) } }

    /// Sends and waits until each record is acknowledged or has failed.
    package func send(_ records: [ProducerRecord]) async -> DeliveryReport { await enqueue(records).report() }

    /// Copies one record into librdkafka's queue; `nil` if librdkafka took the record.
    private func produce(_ record: ProducerRecord, _ tickets: DeliveryTickets, at index: Int) -> KafkaError? {
        guard let client = shared.client, let topic = unsafe topics.handle(record.topic) else {
            return .closed("producer")
        }
        return unsafe client.produce(record, to: topic, tickets, index)
    }

    /// Calls `body` with a client and closes the client afterwards, even if `body` throws.
    package static func with<Value>(
        _ configuration: [String: String], isUncompressed: @escaping @Sendable (String) -> Bool = { _ in false },
        _ body: (KafkaProducer) async throws -> Value
    ) async throws -> Value {
        let producer = try KafkaProducer(configuration: configuration, isUncompressed: isUncompressed)
        return try await closing {
            await producer.close(deadline: closeDeadline)
        } after: {
            try await body(producer)
        }
    }

    private static let closeDeadline = Duration.seconds(5)

    /// Sends the queued records, at most until the deadline, and closes the client.
    ///
    /// Records without an acknowledgement at the deadline are reported as `.purged`.
    ///
    /// - Returns: whether every record was acknowledged or had failed by the deadline.
    @discardableResult package func close(deadline: Duration) async -> Bool {
        guard let client = shared.client else { return true }
        shared.close()
        thread.stop()
        let isDrained = await thread.drain(client, deadline: deadline)
        topics.close()
        await thread.end()
        return isDrained
    }

    deinit { thread.stop() }
}
