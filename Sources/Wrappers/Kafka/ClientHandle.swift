import CRDKafka
import Platform
import Synchronization

/// A librdkafka client, destroyed when its last owner releases it.
///
/// librdkafka's calls are thread-safe, except on a destroyed client; the reference count excludes that.
@safe final class ClientHandle: @unchecked Sendable {
    let pointer: OpaquePointer
    let callbacks: ClientCallbacks
    private let destroyFlags: Int32
    private let isConsumer: Bool
    private let servers: String

    /// - Parameters:
    ///   - pointer: the client, which this handle owns from then on.
    ///   - servers: the value of `bootstrap.servers`, for messages.
    init(takingOwnershipOf pointer: OpaquePointer, callbacks: ClientCallbacks, isConsumer: Bool, servers: String) {
        unsafe self.pointer = pointer
        self.callbacks = callbacks
        self.servers = servers
        self.isConsumer = isConsumer
        // A consumer is closed with a deadline first; destroying it must not wait for that again.
        destroyFlags = isConsumer ? Int32(RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE) : 0
    }

    static func consumer(_ configuration: [String: String], handlers: KafkaHandlers) throws(KafkaError) -> ClientHandle
    {
        let client = try make(RD_KAFKA_CONSUMER, configuration, handlers: handlers) { $0.setConsumerCallbacks() }
        // Errors and events then arrive in the one queue that the consumer polls.
        unsafe rd_kafka_poll_set_consumer(client.pointer)
        return client
    }

    static func producer(_ configuration: [String: String], handlers: KafkaHandlers) throws(KafkaError) -> ClientHandle
    { try make(RD_KAFKA_PRODUCER, configuration, handlers: handlers) { $0.setProducerCallbacks() } }

    /// Creates a client for metadata and administration: a producer, because librdkafka has no admin type.
    static func admin(_ configuration: [String: String], handlers: KafkaHandlers, isOfNewestIdentity: Bool)
        throws(KafkaError) -> ClientHandle
    { try make(RD_KAFKA_PRODUCER, configuration, handlers: handlers, isOfNewestIdentity: isOfNewestIdentity) { _ in } }

    private static func make(
        _ type: rd_kafka_type_t, _ configuration: [String: String], handlers: KafkaHandlers,
        isOfNewestIdentity: Bool = true, settingCallbacks: (borrowing ClientConfiguration) -> Void
    ) throws(KafkaError) -> ClientHandle {
        // Passwords and certificates may have changed since these properties were read.
        let own = KafkaIdentity(configuration)
        let identity = isOfNewestIdentity ? own.newest : own
        let configuration = configuration.merging(identity.properties) { $1 }
        let callbacks = ClientCallbacks(handlers: handlers, warning: ScramSupport.warning(configuration))
        let conf = try ClientConfiguration(configuration)
        conf.setCallbacks(callbacks)
        settingCallbacks(conf)
        let client = unsafe ClientHandle(
            takingOwnershipOf: try conf.makeClient(type), callbacks: callbacks, isConsumer: type == RD_KAFKA_CONSUMER,
            servers: configuration["bootstrap.servers"] ?? "")
        if isOfNewestIdentity { KafkaIdentity.register(client, identity) }
        return client
    }

    /// Begins a wait for the brokers; a long wait is reported.
    ///
    /// `nil` if waits are not reported.
    func wait(within limit: Duration? = nil) -> ServerWait? { .begin(for: "Kafka at \(servers)", within: limit) }

    /// The client's fatal error.
    ///
    /// `nil` without one.
    var fatalError: KafkaError? {
        var code = RD_KAFKA_RESP_ERR_NO_ERROR
        let reason = unsafe ErrorText.written { text, count in unsafe code = rd_kafka_fatal_error(pointer, text, count)
        }
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        return KafkaError(code, message: reason, isFatal: true)
    }

    /// The failed authentication or handshake that explains a call's error, or the error itself.
    func explained(_ error: KafkaError) -> KafkaError {
        if !isConsumer {
            // Runs pending callbacks, which may report the reason; a consumer's poll runs its callbacks itself.
            _ = unsafe rd_kafka_poll(pointer, 0)
        }
        return callbacks.explained(error)
    }

    deinit {
        guard !callbacks.mustNotBeDestroyed else {
            // Leaks the client, and the callbacks that its threads use; the client has already left its group.
            _ = unsafe Unmanaged.passRetained(callbacks)
            return
        }
        unsafe rd_kafka_destroy_flags(pointer, destroyFlags)
    }
}

extension ClientHandle {
    /// Starts a commit; librdkafka's background thread reports the outcome with `number`.
    ///
    /// - Returns: an error if the commit was not started; then no outcome is reported.
    func sendCommit(_ commits: [TopicPartition: OffsetCommit], number: Int) -> KafkaError? {
        let list = PartitionList(commits)
        let queue = unsafe rd_kafka_queue_get_background(pointer)
        defer { unsafe rd_kafka_queue_destroy(queue) }
        let code = unsafe rd_kafka_commit_queue(
            pointer, list.pointer, queue, nil, UnsafeMutableRawPointer(bitPattern: number))
        return code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : KafkaError(code)
    }

    /// The start and end offsets of a log in the broker's last report.
    ///
    /// `nil` without a report.
    func cachedWatermarks(_ partition: TopicPartition) -> Watermarks? {
        var low: Int64 = 0
        var high: Int64 = 0
        let code = unsafe rd_kafka_get_watermark_offsets(pointer, partition.topic, partition.partition, &low, &high)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, low >= 0, high >= 0 else { return nil }
        return Watermarks(low: low, high: high)
    }
}

/// A client for callers on any thread, `nil` after `close()`.
final class SharedClient: Sendable {
    private let state: Mutex<ClientHandle?>

    init(_ client: ClientHandle) { state = Mutex(client) }

    var client: ClientHandle? { state.withLock { $0 } }

    func close() { state.withLock { $0 = nil } }
}
