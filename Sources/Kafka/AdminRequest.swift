import CRDKafka

/// One question of librdkafka's admin interface: its queue and options, freed with it.
@safe
struct AdminRequest: ~Copyable {
    private let client: ClientHandle
    private let queue: OpaquePointer?
    private let options: OpaquePointer?
    private let deadline: Duration

    init(_ client: ClientHandle, _ operation: rd_kafka_admin_op_t, deadline: Duration) {
        self.client = client
        self.deadline = deadline
        unsafe queue = rd_kafka_queue_new(client.pointer)
        unsafe options = rd_kafka_AdminOptions_new(client.pointer, operation)
        let timeout = deadline.millisecondsClamped
        _ = unsafe ErrorText.written { text, count in
            _ = unsafe rd_kafka_AdminOptions_set_request_timeout(options, timeout, text, count)
        }
    }

    deinit {
        unsafe rd_kafka_AdminOptions_destroy(options)
        unsafe rd_kafka_queue_destroy(queue)
    }

    /// Asks and reads the answer, whose memory is gone when `read` returns.
    ///
    /// - Parameter send: gets the client, the options and the queue, in librdkafka's order.
    borrowing func answer<Value>(
        _ send: (OpaquePointer, OpaquePointer?, OpaquePointer?) -> Void,
        read: (OpaquePointer) throws(KafkaError) -> Value
    ) throws(KafkaError) -> Value {
        unsafe send(client.pointer, options, queue)
        let timeout = (deadline + Self.grace).millisecondsClamped
        guard let event = unsafe rd_kafka_queue_poll(queue, timeout) else {
            throw .deadline("the admin request")
        }
        defer { unsafe rd_kafka_event_destroy(event) }
        let code = unsafe rd_kafka_event_error(event)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            let words = unsafe String(optionalCString: rd_kafka_event_error_string(event))
            throw KafkaError(code, message: words)
        }
        return unsafe try read(event)
    }

    /// librdkafka ends the request by its own timeout; this is for its report to arrive.
    private static let grace = Duration.seconds(1)
}
