import CRDKafka
import Synchronization

extension ClientHandle {
    /// Copies one record into librdkafka's queue; `nil` if librdkafka took the record.
    func produce(_ record: ProducerRecord, to topic: OpaquePointer, _ tickets: DeliveryTickets, _ index: Int)
        -> KafkaError?
    {
        let ticket = unsafe tickets.issue(index)
        let headers = unsafe Self.makeHeaders(record.headers)
        let error = unsafe Self.withBytes(record.key) { key in
            unsafe Self.withBytes(record.value) { value in
                unsafe Self.produce(pointer, topic, record.partition ?? -1, key: key, value: value, headers, ticket)
            }
        }
        if error != nil, let ticket = unsafe ticket { _ = unsafe DeliveryTickets.redeem(ticket) }
        return error
    }

    /// Copies a record again into librdkafka's queue, within its delivery report, for the same ticket and partition.
    ///
    /// `nil` if librdkafka took the record.
    static func produceAgain(_ client: OpaquePointer, _ message: UnsafePointer<rd_kafka_message_t>) -> KafkaError? {
        let record = unsafe message.pointee
        var headers: OpaquePointer?
        if unsafe rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR {
            unsafe headers = rd_kafka_headers_copy(headers)
        }
        return unsafe produce(
            client, record.rkt, record.partition, key: Memory(ptr: record.key, size: record.key_len),
            value: Memory(ptr: record.payload, size: record.len), headers, record._private)
    }

    /// - Parameters:
    ///   - headers: a list that librdkafka owns after the call, or that the call frees.
    ///   - ticket: a ticket that librdkafka owns if it took the record; otherwise the caller keeps it.
    private static func produce(
        _ client: OpaquePointer, _ topic: OpaquePointer, _ partition: Int32, key: Memory, value: Memory,
        _ headers: OpaquePointer?, _ ticket: UnsafeMutableRawPointer?
    ) -> KafkaError? {
        let failure = unsafe withUnsafeTemporaryAllocation(of: rd_kafka_vu_t.self, capacity: 7) { slots in
            var arguments = unsafe ProduceArguments(slots)
            unsafe arguments.append(RD_KAFKA_VTYPE_RKT) { unsafe $0.rkt = topic }
            unsafe arguments.append(RD_KAFKA_VTYPE_PARTITION) { unsafe $0.i32 = partition }
            unsafe arguments.append(RD_KAFKA_VTYPE_MSGFLAGS) { unsafe $0.i = Int32(RD_KAFKA_MSG_F_COPY) }
            unsafe arguments.append(RD_KAFKA_VTYPE_KEY) { unsafe $0.mem = key }
            unsafe arguments.append(RD_KAFKA_VTYPE_VALUE) { unsafe $0.mem = value }
            unsafe arguments.append(RD_KAFKA_VTYPE_OPAQUE) { unsafe $0.ptr = ticket }
            if let headers = unsafe headers {
                unsafe arguments.append(RD_KAFKA_VTYPE_HEADERS) { unsafe $0.headers = headers }
            }
            return unsafe rd_kafka_produceva(client, slots.baseAddress, arguments.count)
        }
        guard let failure = unsafe failure else { return nil }
        // librdkafka owns the headers only if it took the record.
        if let headers = unsafe headers { unsafe rd_kafka_headers_destroy(headers) }
        return unsafe KafkaError(takingOwnershipOf: failure)
    }

    /// Makes librdkafka's list of headers; `nil` if the record has no headers.
    ///
    /// The caller owns the list until librdkafka has taken the record.
    private static func makeHeaders(_ headers: [KafkaHeader]) -> OpaquePointer? {
        guard !headers.isEmpty else { return nil }
        let list = unsafe rd_kafka_headers_new(headers.count)
        for header in headers {
            unsafe header.nameBytes.withUnsafeBytes { name in
                unsafe withBytes(header.value) { value in
                    _ = unsafe rd_kafka_header_add(
                        list, name.baseAddress?.assumingMemoryBound(to: CChar.self), name.count, value.ptr, value.size)
                }
            }
        }
        return unsafe list
    }

    private typealias Memory = rd_kafka_vu_s.__Unnamed_union_u.__Unnamed_struct_mem

    /// Calls `body` with a null pointer for `nil`, and with another pointer for an empty value: Kafka distinguishes
    /// the two.
    private static func withBytes<Result>(_ bytes: [UInt8]?, _ body: (Memory) -> Result) -> Result {
        guard let bytes else { return unsafe body(Memory(ptr: nil, size: 0)) }
        return unsafe bytes.withUnsafeBytes { buffer in
            let start = unsafe buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
            let memory = unsafe Memory(ptr: UnsafeMutableRawPointer(mutating: start), size: buffer.count)
            return unsafe body(memory)
        }
    }
}

/// The arguments of one `rd_kafka_produceva`, written into the caller's memory.
@safe struct ProduceArguments {
    private let slots: UnsafeMutableBufferPointer<rd_kafka_vu_t>
    private(set) var count = 0

    init(_ slots: UnsafeMutableBufferPointer<rd_kafka_vu_t>) { unsafe self.slots = slots }

    mutating func append(_ type: rd_kafka_vtype_t, _ fill: (inout rd_kafka_vu_s.__Unnamed_union_u) -> Void) {
        var argument = unsafe rd_kafka_vu_t()
        unsafe argument.vtype = type
        unsafe fill(&argument.u)
        unsafe slots.initializeElement(at: count, to: argument)
        count += 1
    }
}

/// The handles of the topics that a producer writes to, each looked up once.
@safe final class TopicHandles: @unchecked Sendable {
    @safe private struct State {
        /// The client, kept alive while handles exist.
        ///
        /// `nil` after closing.
        var client: ClientHandle?
        /// A list, because a producer writes to few topics and nearly all records to the first.
        var handles: [(topic: String, pointer: OpaquePointer)] = unsafe []
    }

    private let state: Mutex<State>
    private let isUncompressed: @Sendable (String) -> Bool

    init(_ client: ClientHandle, isUncompressed: @escaping @Sendable (String) -> Bool) {
        self.isUncompressed = isUncompressed
        state = unsafe Mutex(State(client: client))
    }

    /// Returns a topic's handle, which librdkafka owns.
    ///
    /// `nil` after closing.
    func handle(_ topic: String) -> OpaquePointer? {
        unsafe state.withLock { state in
            if let known = unsafe state.handles.first(where: { unsafe $0.topic == topic }) {
                return unsafe known.pointer
            }
            guard let client = state.client,
                let handle = unsafe rd_kafka_topic_new(
                    client.pointer, topic, isUncompressed(topic) ? uncompressed(client) : nil)
            else { return nil }
            unsafe state.handles.append((topic, handle))
            return unsafe handle
        }
    }

    /// The client's defaults for topics, without compression; librdkafka takes ownership of the copy.
    private func uncompressed(_ client: ClientHandle) -> OpaquePointer? {
        let configuration = unsafe rd_kafka_default_topic_conf_dup(client.pointer)
        let status = unsafe rd_kafka_topic_conf_set(configuration, "compression.codec", "none", nil, 0)
        precondition(status == RD_KAFKA_CONF_OK, "librdkafka knows the codec none")
        return unsafe configuration
    }

    func close() {
        state.withLock { state in
            unsafe state.handles.forEach { unsafe rd_kafka_topic_destroy($0.pointer) }
            unsafe state.handles = []
            state.client = nil
        }
    }

    deinit { close() }
}
