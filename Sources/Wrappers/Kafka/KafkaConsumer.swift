import CDecompression
import CRDKafka
package import Platform
import Threads

/// A member of a consumer group, on its own thread.
///
/// The caller calls `poll` at least every `max.poll.interval.ms`, also without room for records (the partitions are
/// paused then): `poll` serves the group's protocol. The consumer never commits by itself, and stores no offset except
/// in `commit(_:deadline:)`.
package actor KafkaConsumer {
    let executor = ThreadExecutor(name: "kafka-poll")
    var client: ClientHandle?
    let queue: ConsumerQueue
    /// The same client, for calls from any thread.
    nonisolated let shared: SharedClient
    nonisolated let requests: KafkaRequests
    private var reader = MessageReader()
    private var backlog: FetchBacklog
    private var batchesPassedOver = decompression_passed_over()
    var revoking: Set<TopicPartition> = []
    /// The assignment that `assign(with:)` has not answered yet; an empty assignment also needs an answer.
    var unanswered: Set<TopicPartition>?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// Creates the client without waiting for a connection.
    ///
    /// - Parameter configuration: librdkafka's properties, which override `defaults`.
    package init(configuration: [String: String], handlers: KafkaHandlers = KafkaHandlers()) throws(KafkaError) {
        let properties = Self.defaults.merging(configuration) { $1 }.merging(Self.promised) { $1 }
        let client = try ClientHandle.consumer(properties, handlers: handlers)
        self.client = client
        backlog = FetchBacklog(properties)
        queue = ConsumerQueue(client)
        shared = SharedClient(client)
        requests = KafkaRequests(client)
    }

    /// Properties that the pipeline's guarantees depend on; no configuration can change them.
    package static let promised: [String: String] = [
        "enable.auto.commit": "false", "enable.auto.offset.store": "false", "enable.partition.eof": "true",
        "auto.offset.reset": "earliest", "partition.assignment.strategy": "cooperative-sticky",
    ]

    /// Bounds on the records that librdkafka holds, and on fetches.
    ///
    /// Fetches are small, because their size is counted compressed and their records take many times as much memory.
    ///
    /// A broker answers a fetch as soon as it has a record, because a paying customer waits for the record. Under
    /// load, the caller waits between polls so that records accumulate.
    package static let defaults = properties.merging(mustPrompt ? [:] : ["fetch.queue.backoff.ms": "10"]) { $1 }

    /// Maximum decompressed bytes of the batches in one fetch response; the broker's own limits count compressed
    /// bytes.
    package static let decompressedBytesMax = Int(decompression_bytes_max)

    /// Whether librdkafka lacks the setting for the interval at which it checks its queue for room.
    private static let mustPrompt = rd_kafka_version() < 0x0202_0000

    private static let properties = [
        "queued.max.messages.kbytes": "2048", "queued.min.messages": "2000",
        // The value bounds no read; librdkafka requires fetch.max.bytes to be at least as large.
        "message.max.bytes": "65536", "fetch.max.bytes": "262144", "max.partition.fetch.bytes": "262144",
        // An assigned, sought or resumed partition waits until the running fetch returns.
        "fetch.wait.max.ms": "50", "topic.metadata.refresh.interval.ms": "30000", "reconnect.backoff.max.ms": "2000",
        "allow.auto.create.topics": "false", "log.connection.close": "false",
    ]

    /// Begins a wait for data from the brokers.
    ///
    /// `nil` if waits are not reported.
    package nonisolated func wait(within limit: Duration) -> ServerWait? { shared.client?.wait(within: limit) }

    package func subscribe(_ topics: [String]) throws(KafkaError) {
        let client = try opened()
        let list = PartitionList(topics.map { TopicPartition(topic: $0, partition: -1) })
        client.callbacks.recordSubscription()
        let code = unsafe rd_kafka_subscribe(client.pointer, list.pointer)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code) }
    }

    /// Returns as soon as there is a record or an event, with everything available up to the bounds.
    ///
    /// - Parameters:
    ///   - recordsMax: maximum number of records.
    ///   - bytesMax: maximum bytes of keys, values and headers; the poll ends after the record that exceeds it.
    ///   - wait: maximum wait for the first record or event; `wake()` ends it early.
    ///   - takesValues: whether values are copied; otherwise each value is `nil`.
    package func poll(recordsMax: Int, bytesMax: Int, wait: Duration, takesValues: Bool = true) throws(KafkaError)
        -> PollResult
    {
        let client = try opened()
        var result = PollResult()
        var bytes = 0
        // Includes values that are not copied, because librdkafka has held them.
        var bytesHeld = 0
        var timeout = wait.millisecondsClamped
        while result.records.count < recordsMax, bytes < bytesMax,
            let message = unsafe rd_kafka_consumer_poll(client.pointer, timeout)
        {
            defer { unsafe rd_kafka_message_destroy(message) }
            timeout = 0
            if unsafe message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR {
                let record = unsafe reader.record(message, takesValue: takesValues)
                bytes += record.payloadBytes
                bytesHeld += record.payloadBytes + (takesValues ? 0 : Int(unsafe message.pointee.len))
                result.records.append(record)
            } else if unsafe message.pointee.err == RD_KAFKA_RESP_ERR__PARTITION_EOF {
                let partition = unsafe reader.topicPartition(of: message.pointee)
                result.ends.append(unsafe PartitionEnd(partition: partition, offset: message.pointee.offset))
            } else {
                unsafe result.errors.append(error(message.pointee, of: client))
            }
        }
        result.isFull = result.records.count >= recordsMax || bytes >= bytesMax
        let isFetchingDue = backlog.took(records: result.records.count, bytes: bytesHeld, leaving: queue.count)
        if isFetchingDue, Self.mustPrompt { requests.promptFetching(Set(result.records.map(\.topicPartition))) }
        let passedOver = decompression_passed_over()
        result.batchesPassedOver = Int(passedOver &- batchesPassedOver)
        batchesPassedOver = passedOver
        result.isGroupBalanced = client.callbacks.takeBalance()
        result.events = client.callbacks.takeRebalances()
        if !result.events.isEmpty { record(result.events) }
        return result
    }

    /// Ends a waiting `poll`, or the next `poll`, without a result.
    ///
    /// Any thread may call this.
    package nonisolated func wake() { queue.wake() }

    private func record(_ events: [RebalanceEvent]) {
        reader.reset()
        for event in events {
            switch event {
            case .assigned(let partitions): unanswered = (unanswered ?? []).union(partitions)
            case .revoking(let partitions): revoking.formUnion(partitions)
            case .lost(let partitions): revoking.subtract(partitions)
            }
        }
    }

    private func error(_ message: rd_kafka_message_t, of client: ClientHandle) -> PartitionError {
        let code = unsafe message.err
        let error =
            code == RD_KAFKA_RESP_ERR__FATAL
            ? client.fatalError ?? KafkaError(code)
            : unsafe KafkaError(code, message: String(optionalCString: rd_kafka_err2str(code)))
        let place = unsafe message.rkt == nil ? nil : reader.topicPartition(of: message)
        return PartitionError(error: error, topicPartition: place)
    }

    func opened() throws(KafkaError) -> ClientHandle {
        guard let client else { throw .closed("consumer") }
        return client
    }
}

package struct PollResult: Sendable {
    /// The records, in order within each partition.
    package var records: [ConsumerRecord] = []
    /// The events in the order in which they happened.
    ///
    /// The same result may contain records that preceded an event.
    package var events: [RebalanceEvent] = []
    package var errors: [PartitionError] = []
    /// Partitions that were read to their end; all records below each end were returned earlier, or are in `records`.
    package var ends: [PartitionEnd] = []
    /// Number of record batches that consumers of this process skipped since the previous poll, because the batches
    /// decompress to more than `KafkaConsumer.decompressedBytesMax`.
    ///
    /// A consumer gets no record for the offsets of these batches.
    package var batchesPassedOver = 0
    /// Whether the poll ended at a bound, so that more records may be available.
    package var isFull = false
    /// Whether the group is balanced and waits for no member's answer.
    ///
    /// The value is from before `events`. `nil` if unknown: it is reported every `statistics.interval.ms`.
    package var isGroupBalanced: Bool?

    package var isEmpty: Bool { records.isEmpty && events.isEmpty && errors.isEmpty && ends.isEmpty }
}

/// A decision of the group's coordinator about this consumer's partitions.
package enum RebalanceEvent: Sendable, Equatable {
    /// An assignment, which `KafkaConsumer.assign(with:)` has to answer; until then no record is fetched.
    case assigned([TopicPartition])
    /// A revocation, which `KafkaConsumer.completeRevocation(_:)` has to answer once the records in flight are settled
    /// or given up.
    ///
    /// The group waits for the answer, at most `max.poll.interval.ms`.
    case revoking([TopicPartition])
    /// Lost partitions, which another member may already have: their offsets must not be committed any more.
    case lost([TopicPartition])
}

/// The end of a partition's log, as reached by a consumer of committed records.
package struct PartitionEnd: Sendable, Equatable {
    package let partition: TopicPartition
    /// The offset at which reading continues; an offset below it that was not returned has no record.
    package let offset: Int64

    package init(partition: TopicPartition, offset: Int64) {
        self.partition = partition
        self.offset = KafkaBounds.offset(offset)
    }
}

/// An error with the partition that it concerns, if any.
package struct PartitionError: Error, Sendable, Equatable {
    package let error: KafkaError
    package let topicPartition: TopicPartition?
}
