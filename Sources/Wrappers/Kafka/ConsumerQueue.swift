import CRDKafka
import Synchronization

/// The queue that a consumer polls, for callers on other threads.
@safe final class ConsumerQueue: @unchecked Sendable {
    private let pointer: Mutex<OpaquePointer?>

    init(_ client: ClientHandle) { unsafe pointer = Mutex(rd_kafka_queue_get_consumer(client.pointer)) }

    /// Number of waiting records and other events in the queue.
    var count: Int {
        unsafe pointer.withLock { pointer in
            guard let pointer = unsafe pointer else { return 0 }
            return unsafe rd_kafka_queue_length(pointer)
        }
    }

    /// Wakes the waiting poll; does nothing while the consumer is being closed, because closing holds the queue.
    func wake() {
        _ = unsafe pointer.withLockIfAvailable { pointer in
            if let pointer = unsafe pointer { unsafe rd_kafka_queue_yield(pointer) }
        }
    }

    /// Closes the consumer and serves its last rebalance, until both are done or the deadline has passed.
    ///
    /// librdkafka waits for the answer to its last rebalance event, so the answer is given first.
    ///
    /// - Parameters:
    ///   - assigned: partitions of an unanswered assignment, possibly empty; `nil` if no assignment is pending.
    ///   - revoked: partitions of an unanswered revocation.
    ///   - isLeaving: whether a static member also leaves its group.
    func close(
        _ client: ClientHandle, taking assigned: Set<TopicPartition>?, givingUp revoked: Set<TopicPartition>,
        isLeaving: Bool, deadline: Duration
    ) -> Bool {
        let end = ContinuousClock.now + deadline
        return unsafe pointer.withLock { pointer in
            guard let queue = unsafe pointer else { return true }
            defer {
                unsafe rd_kafka_queue_destroy(queue)
                unsafe pointer = nil
            }
            if let assigned {
                let list = PartitionList(assigned)
                unsafe discard(rd_kafka_incremental_assign(client.pointer, list.pointer))
            }
            if !revoked.isEmpty {
                let list = PartitionList(revoked)
                unsafe discard(rd_kafka_incremental_unassign(client.pointer, list.pointer))
            }
            if isLeaving { leave(client, until: end) }
            unsafe discard(rd_kafka_consumer_close_queue(client.pointer, queue))
            return serve(client, until: end) { unsafe rd_kafka_consumer_closed(client.pointer) != 0 }
        }
    }

    /// Makes a static member leave its group.
    ///
    /// A static member that closes only stops its heartbeats, and the group keeps its partitions (KIP-345). A member
    /// without a subscription leaves like any other member.
    private func leave(_ client: ClientHandle, until end: ContinuousClock.Instant) {
        guard unsafe rd_kafka_unsubscribe(client.pointer) == RD_KAFKA_RESP_ERR_NO_ERROR else { return }
        _ = serve(client, until: end) {
            // librdkafka clears the member ID once the request to leave is sent; closing waits for that request.
            guard let member = unsafe rd_kafka_memberid(client.pointer) else { return true }
            defer { unsafe rd_kafka_mem_free(client.pointer, member) }
            return unsafe member.pointee == 0
        }
    }

    /// Serves the callbacks until `isDone` holds; false if the deadline passes first.
    private func serve(_ client: ClientHandle, until end: ContinuousClock.Instant, _ isDone: () -> Bool) -> Bool {
        while !isDone() {
            guard ContinuousClock.now < end else { return false }
            // Records that still arrive are dropped, uncommitted.
            if let message = unsafe rd_kafka_consumer_poll(client.pointer, 10) {
                unsafe rd_kafka_message_destroy(message)
            }
        }
        return true
    }

    deinit {
        unsafe pointer.withLock { pointer in if let pointer = unsafe pointer { unsafe rd_kafka_queue_destroy(pointer) }
        }
    }
}

/// A reader that copies librdkafka's messages into records.
struct MessageReader {
    private var topics = TopicNames()
    private var headerNames = HeaderNames()

    /// Clears the cache of topic names; the next messages look the names up again.
    mutating func reset() { topics.removeAll() }

    mutating func topicPartition(of message: rd_kafka_message_t) -> TopicPartition {
        unsafe TopicPartition(topic: topics[message.rkt], partition: message.partition)
    }

    /// - Parameters:
    ///   - pointer: a message that the caller owns and destroys.
    ///   - takesValue: whether the value is copied; otherwise the record's value is `nil`.
    mutating func record(_ pointer: UnsafeMutablePointer<rd_kafka_message_t>, takesValue: Bool) -> ConsumerRecord {
        let message = unsafe pointer.pointee
        var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let timestamp = unsafe rd_kafka_message_timestamp(pointer, &kind)
        return unsafe ConsumerRecord(
            topicPartition: topicPartition(of: message), offset: message.offset,
            timestampMilliseconds: kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? nil : timestamp,
            key: bytes(message.key, message.key_len), value: takesValue ? bytes(message.payload, message.len) : nil,
            headers: headers(pointer))
    }

    private func bytes(_ start: UnsafeRawPointer?, _ count: Int) -> [UInt8]? {
        guard let start = unsafe start else { return nil }
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    private mutating func headers(_ message: UnsafeMutablePointer<rd_kafka_message_t>) -> [KafkaHeader] {
        var list: OpaquePointer?
        guard unsafe rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR else { return [] }
        var headers: [KafkaHeader] = []
        headers.reserveCapacity(unsafe rd_kafka_header_cnt(list))
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var count = 0
        while unsafe rd_kafka_header_get_all(list, headers.count, &name, &value, &count) == RD_KAFKA_RESP_ERR_NO_ERROR {
            guard let name = unsafe name else { break }
            headers.append(unsafe KafkaHeader(nameBytes: headerNames.bytes(name), value: bytes(value, count)))
        }
        return headers
    }
}

/// The names of headers, each stored once, so that a header with a known name needs no array for it.
struct HeaderNames {
    private(set) var names: [[UInt8]] = []

    /// Maximum names kept: records have a few short header names; other names are copied each time.
    private static let namesMax = 16
    private static let nameBytesMax = 64

    mutating func bytes(_ name: UnsafePointer<CChar>) -> [UInt8] {
        let bytes = unsafe UnsafeRawBufferPointer(start: name, count: strlen(name))
        guard bytes.count <= Self.nameBytesMax else { return unsafe Array(bytes) }
        for known in names where unsafe known.elementsEqual(bytes) { return known }
        let new = unsafe Array(bytes)
        if names.count < Self.namesMax { names.append(new) }
        return new
    }
}
