import CDecompression
import CRDKafka
package import Platform
import Threads

/// A member of a consumer group, on a thread of its own.
///
/// `poll` has to be called all the time, at least every `max.poll.interval.ms`, also when there is
/// no room for records (pause the partitions then): it serves the group's protocol. Nothing here
/// commits by itself, and no offset is stored but by `commit(_:deadline:)`.
package actor KafkaConsumer {
    let executor = ThreadExecutor(name: "kafka-poll")
    var client: ClientHandle?
    let queue: ConsumerQueue
    /// The same client for calls that may come from any thread.
    nonisolated let shared: SharedClient
    nonisolated let requests: KafkaRequests
    private var reader = MessageReader()
    private var backlog: FetchBacklog
    private var batchesPassedOver = decompression_passed_over()
    var revoking: Set<TopicPartition> = []
    /// The assignment that `assign(with:)` has not answered yet; one without partitions waits for
    /// its answer too.
    var unanswered: Set<TopicPartition>?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// Makes the client; no connection is waited for.
    ///
    /// - Parameter configuration: librdkafka's properties, laid over `defaults`.
    package init(configuration: [String: String], handlers: KafkaHandlers = KafkaHandlers()) throws(KafkaError) {
        let properties = Self.defaults.merging(configuration) { $1 }.merging(Self.promised) { $1 }
        let client = try ClientHandle.consumer(properties, handlers: handlers)
        self.client = client
        backlog = FetchBacklog(properties)
        queue = ConsumerQueue(client)
        shared = SharedClient(client)
        requests = KafkaRequests(client)
    }

    /// Properties that the pipeline's guarantees depend on, so that they cannot be configured.
    package static let promised: [String: String] = [
        "enable.auto.commit": "false", "enable.auto.offset.store": "false", "enable.partition.eof": "true",
        "auto.offset.reset": "earliest", "partition.assignment.strategy": "cooperative-sticky",
    ]

    /// Bounds on what librdkafka holds for us, and fetches that are small, since a fetch counts
    /// compressed and is held many times as large.
    ///
    /// A broker answers a fetch as soon as it has a record, since somebody who has just paid waits
    /// for it; under load the caller lets records gather between polls.
    package static let defaults = properties.merging(mustPrompt ? [:] : ["fetch.queue.backoff.ms": "10"]) { $1 }

    /// Maximum bytes that the batches of one answer to a fetch decompress to, whatever their codec
    /// makes of the bytes that the broker counts.
    package static let decompressedBytesMax = Int(decompression_bytes_max)

    /// Whether librdkafka is too old for a setting of how soon it checks its queue for room again.
    private static let mustPrompt = rd_kafka_version() < 0x0202_0000

    private static let properties = [
        "queued.max.messages.kbytes": "2048", "queued.min.messages": "2000",
        // Bounds nothing that is read; librdkafka refuses a fetch.max.bytes below it.
        "message.max.bytes": "65536", "fetch.max.bytes": "262144", "max.partition.fetch.bytes": "262144",
        // A partition that is assigned, sought or resumed waits until the fetch under way returns.
        "fetch.wait.max.ms": "50", "topic.metadata.refresh.interval.ms": "30000", "reconnect.backoff.max.ms": "2000",
        "allow.auto.create.topics": "false", "log.connection.close": "false",
    ]

    /// Begins a wait for the brokers to send something; nil if waits are not reported.
    package nonisolated func wait(within limit: Duration) -> ServerWait? { shared.client?.wait(within: limit) }

    package func subscribe(_ topics: [String]) throws(KafkaError) {
        let client = try opened()
        let list = PartitionList(topics.map { TopicPartition(topic: $0, partition: -1) })
        client.callbacks.recordSubscription()
        let code = unsafe rd_kafka_subscribe(client.pointer, list.pointer)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code) }
    }

    /// Returns as soon as there is something, with all that is there up to the bounds.
    ///
    /// - Parameters:
    ///   - recordsMax: records at most.
    ///   - bytesMax: no further record is taken once keys, values and headers exceed it.
    ///   - wait: how long to wait for the first thing to happen; `wake()` ends it early.
    ///   - takesValues: whether values are copied; otherwise each is nil.
    package func poll(recordsMax: Int, bytesMax: Int, wait: Duration, takesValues: Bool = true) throws(KafkaError)
        -> PollResult
    {
        let client = try opened()
        var result = PollResult()
        var bytes = 0
        // Also of values that are not copied: librdkafka has held them.
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

    /// Ends a waiting `poll`, or the next one, without a result.
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
    /// The records, in order per partition.
    package var records: [ConsumerRecord] = []
    /// The events in the order in which they happened.
    ///
    /// Records that came before an event may stand beside it.
    package var events: [RebalanceEvent] = []
    package var errors: [PartitionError] = []
    /// Partitions that were read to their end; all records below each end were returned before, or
    /// stand in `records`.
    package var ends: [PartitionEnd] = []
    /// Batches of records that consumers of this process passed over since the poll before, because
    /// they decompress to more than `KafkaConsumer.decompressedBytesMax`.
    ///
    /// Their offsets hold no record for a consumer.
    package var batchesPassedOver = 0
    /// Whether a bound ended the poll, so that there may be more records.
    package var isFull = false
    /// Whether the group is balanced and waits for no member's answer.
    ///
    /// The value dates from before `events`. `nil` if unknown, as it is reported every
    /// `statistics.interval.ms`.
    package var isGroupBalanced: Bool?

    package var isEmpty: Bool { records.isEmpty && events.isEmpty && errors.isEmpty && ends.isEmpty }
}

/// A decision of the group's coordinator about this consumer's partitions.
package enum RebalanceEvent: Sendable, Equatable {
    /// An assignment, which `KafkaConsumer.assign(with:)` has to answer; until then nothing is
    /// fetched.
    case assigned([TopicPartition])
    /// A revocation, which `KafkaConsumer.completeRevocation(_:)` has to answer once what is in
    /// hand is settled or given up.
    ///
    /// The group waits for the answer, at most `max.poll.interval.ms`.
    case revoking([TopicPartition])
    /// Lost already, perhaps to another member: no offset of them may be committed any more.
    case lost([TopicPartition])
}

/// The end of a partition's log as a consumer of committed records has reached it.
package struct PartitionEnd: Sendable, Equatable {
    package let partition: TopicPartition
    /// The offset at which reading continues: what lies below it and was not returned, holds no
    /// record.
    package let offset: Int64

    package init(partition: TopicPartition, offset: Int64) {
        self.partition = partition
        self.offset = KafkaBounds.offset(offset)
    }
}

/// An error, and the partition that it concerns, if any.
package struct PartitionError: Error, Sendable, Equatable {
    package let error: KafkaError
    package let topicPartition: TopicPartition?
}
