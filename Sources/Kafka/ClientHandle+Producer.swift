import CRDKafka

extension ClientHandle {
    /// Copies one record into librdkafka's queue; nil when it was taken.
    func produce(
        _ record: ProducerRecord,
        to topic: OpaquePointer,
        _ tickets: DeliveryTickets,
        _ index: Int
    ) -> KafkaError? {
        let ticket = unsafe tickets.issue(index)
        let headers = unsafe Self.makeHeaders(record.headers)
        let failure = unsafe Self.withBytes(record.key) { key in
            unsafe Self.withBytes(record.value) { value in
                unsafe withUnsafeTemporaryAllocation(of: rd_kafka_vu_t.self, capacity: 7) { slots in
                    var arguments = unsafe ProduceArguments(slots)
                    unsafe arguments.append(RD_KAFKA_VTYPE_RKT) { unsafe $0.rkt = topic }
                    unsafe arguments.append(RD_KAFKA_VTYPE_PARTITION) {
                        unsafe $0.i32 = record.partition ?? -1
                    }
                    unsafe arguments.append(RD_KAFKA_VTYPE_MSGFLAGS) {
                        unsafe $0.i = Int32(RD_KAFKA_MSG_F_COPY)
                    }
                    unsafe arguments.append(RD_KAFKA_VTYPE_KEY) { unsafe $0.mem = key }
                    unsafe arguments.append(RD_KAFKA_VTYPE_VALUE) { unsafe $0.mem = value }
                    unsafe arguments.append(RD_KAFKA_VTYPE_OPAQUE) { unsafe $0.ptr = ticket }
                    if let headers = unsafe headers {
                        unsafe arguments.append(RD_KAFKA_VTYPE_HEADERS) {
                            unsafe $0.headers = headers
                        }
                    }
                    return unsafe rd_kafka_produceva(
                        pointer,
                        slots.baseAddress,
                        arguments.count
                    )
                }
            }
        }
        guard let failure = unsafe failure else { return nil }
        // Only what was taken belongs to librdkafka.
        if let headers = unsafe headers {
            unsafe rd_kafka_headers_destroy(headers)
        }
        if let ticket = unsafe ticket {
            _ = unsafe DeliveryTickets.redeem(ticket)
        }
        return unsafe KafkaError(takingOwnershipOf: failure)
    }

    /// Nil where there are none; owned by the caller until librdkafka has taken the record.
    private static func makeHeaders(_ headers: [KafkaHeader]) -> OpaquePointer? {
        guard !headers.isEmpty else { return nil }
        let list = unsafe rd_kafka_headers_new(headers.count)
        for header in headers {
            unsafe header.nameBytes.withUnsafeBytes { name in
                unsafe withBytes(header.value) { value in
                    _ = unsafe rd_kafka_header_add(
                        list,
                        name.baseAddress?.assumingMemoryBound(to: CChar.self),
                        name.count,
                        value.ptr,
                        value.size
                    )
                }
            }
        }
        return unsafe list
    }

    private typealias Memory = rd_kafka_vu_s.__Unnamed_union_u.__Unnamed_struct_mem

    /// Null for nil, and a pointer that is not null for an empty value: to Kafka they differ.
    private static func withBytes<Result>(
        _ bytes: [UInt8]?,
        _ body: (Memory) -> Result
    ) -> Result {
        guard let bytes else {
            return unsafe body(Memory(ptr: nil, size: 0))
        }
        return unsafe bytes.withUnsafeBytes { buffer in
            let start = unsafe buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
            let memory = unsafe Memory(
                ptr: UnsafeMutableRawPointer(mutating: start),
                size: buffer.count
            )
            return unsafe body(memory)
        }
    }
}
