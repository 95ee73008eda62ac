import CRDKafka
import Platform
import Threads

/// An admin client of a cluster, whose requests run on their own thread, each within a deadline.
package actor KafkaAdmin {
    private let executor = ThreadExecutor(name: "kafka-admin")
    private var client: ClientHandle?
    private let requests: KafkaRequests
    private let configuration: [String: String]
    private let handlers: KafkaHandlers
    /// A consumer for each requested group; no consumer joins its group.
    private var groups: [String: KafkaRequests] = [:]

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// Creates the client without waiting for a connection.
    ///
    /// - Parameter isOfNewestIdentity: false to test an identity that may already be replaced.
    package init(
        configuration: [String: String], handlers: KafkaHandlers = KafkaHandlers(), isOfNewestIdentity: Bool = true
    ) throws(KafkaError) {
        let client = try ClientHandle.admin(configuration, handlers: handlers, isOfNewestIdentity: isOfNewestIdentity)
        self.client = client
        requests = KafkaRequests(client)
        self.configuration = configuration
        self.handlers = handlers
    }

    /// Calls `body` with a client and closes the client afterwards, even if `body` throws.
    package static func with<Value>(_ configuration: [String: String], _ body: (KafkaAdmin) async throws -> Value)
        async throws -> Value
    {
        let admin = try KafkaAdmin(configuration: configuration)
        return try await closing {
            await admin.close()
        } after: {
            try await body(admin)
        }
    }

    package func close() async {
        await requests.close()
        for group in groups.values { await group.close() }
        groups = [:]
        client = nil
        executor.stop()
    }

    func opened() throws(KafkaError) -> ClientHandle {
        guard let client else { throw .closed("admin client") }
        return client
    }

    func requests(ofGroup name: String) throws(KafkaError) -> KafkaRequests {
        _ = try opened()
        if let known = groups[name] { return known }
        let properties = configuration.merging(["group.id": name]) { $1 }
        let made = KafkaRequests(try ClientHandle.consumer(properties, handlers: handlers))
        groups[name] = made
        return made
    }

    /// Returns "the broker cannot or may not answer this request" as a value instead of throwing it.
    ///
    /// librdkafka's mock names no controller, so a request for the controller ends at its deadline. If the brokers
    /// answer a simultaneous request for their topics, they are running, and the first request counts as unanswered.
    func answer<Value: Sendable>(within deadline: Duration, _ body: (ClientHandle) throws(KafkaError) -> Value)
        async throws(KafkaError) -> KafkaAnswer<Value>
    {
        do { return .answered(try body(try opened())) } catch {
            switch error.code {
            case .unsupported, .unauthorized: return .unanswered(error)
            case .timedOut:
                guard (try? await requests.metadata(topic: nil, deadline: deadline)) != nil else { throw error }
                return .unanswered(error)
            default: throw error
            }
        }
    }

    /// The cluster's ID from its brokers; the bootstrap servers if the brokers report no ID.
    ///
    /// Fails when no broker answers in time.
    package nonisolated func clusterID(deadline: Duration) async throws(KafkaError) -> String {
        _ = try await requests.metadata(topic: nil, deadline: deadline)
        return await requests.clusterID() ?? configuration["bootstrap.servers"] ?? ""
    }

    /// - Parameter topic: the topic; `nil` requests all topics. A topic that does not exist has its error, and is
    ///   created by the request if the brokers are configured so: a reader therefore requests all topics.
    package nonisolated func metadata(topic: String? = nil, deadline: Duration) async throws(KafkaError)
        -> ClusterMetadata
    { try await requests.metadata(topic: topic, deadline: deadline) }

    /// The offsets between which each partition has records: two requests per broker.
    package nonisolated func listOffsets(_ partitions: [TopicPartition], deadline: Duration) async throws(KafkaError)
        -> [TopicPartition: Watermarks]
    {
        guard !partitions.isEmpty else { return [:] }
        let low = try await offsets(partitions, at: PartitionList.beginning, deadline: deadline)
        let high = try await offsets(partitions, at: PartitionList.end, deadline: deadline)
        return low.reduce(into: [:]) { marks, element in
            guard let end = high[element.key] else { return }
            marks[element.key] = Watermarks(low: element.value, high: end)
        }
    }

    /// The first offset at or after a time; a partition without such an offset is left out.
    package nonisolated func offsets(_ partitions: [TopicPartition], atMilliseconds time: Int64, deadline: Duration)
        async throws(KafkaError) -> [TopicPartition: Int64]
    {
        try await offsets(partitions, at: time, deadline: deadline).filter { $0.value >= 0 }.mapValues {
            KafkaBounds.offset($0)
        }
    }

    private nonisolated func offsets(_ partitions: [TopicPartition], at time: Int64, deadline: Duration)
        async throws(KafkaError) -> [TopicPartition: Int64]
    {
        let times = Dictionary(uniqueKeysWithValues: partitions.map { ($0, time) })
        return try await requests.offsets(times, deadline: deadline)
    }
}

/// A request to librdkafka's admin interface, with its queue and options, which it frees.
@safe struct AdminRequest: ~Copyable {
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

    /// Sends a request and reads its answer, whose memory is freed when `read` returns.
    ///
    /// - Parameter send: a call with the client, the options and the queue, in librdkafka's order.
    borrowing func answer<Value>(
        _ send: (OpaquePointer, OpaquePointer?, OpaquePointer?) -> Void,
        read: (OpaquePointer) throws(KafkaError) -> Value
    ) throws(KafkaError) -> Value {
        let wait = client.wait(within: deadline)
        unsafe send(client.pointer, options, queue)
        let timeout = (deadline + Self.grace).millisecondsClamped
        guard let event = unsafe rd_kafka_queue_poll(queue, timeout) else {
            throw client.explained(.deadline("the admin request"))
        }
        defer { unsafe rd_kafka_event_destroy(event) }
        let code = unsafe rd_kafka_event_error(event)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            let words = unsafe String(optionalCString: rd_kafka_event_error_string(event))
            throw client.explained(KafkaError(code, message: words))
        }
        wait?.answered()
        return unsafe try read(event)
    }

    /// Time for librdkafka's report to arrive after librdkafka has ended the request by its own timeout.
    private static let grace = Duration.seconds(1)
}

/// The answer to a request that some brokers do not support: old brokers, and librdkafka's mock.
package enum KafkaAnswer<Value: Sendable>: Sendable {
    case answered(Value)
    /// The broker does not support the request, or does not authorize this client for it.
    case unanswered(KafkaError)

    package var value: Value? {
        guard case .answered(let value) = self else { return nil }
        return value
    }
}

extension KafkaAnswer: Equatable where Value: Equatable {}

extension KafkaAdmin {
    /// The committed offsets of a group, with metadata, whether the group has members or not.
    ///
    /// A client of that group, which does not join it, sends the request: librdkafka's admin call ends the process if
    /// the coordinator has moved or is not available yet (its issue 5040).
    ///
    /// - Parameter partitions: the partitions; a partition without a commit has the offset `nil` in the result.
    package func committedOffsets(group: String, _ partitions: [TopicPartition], deadline: Duration)
        async throws(KafkaError) -> [TopicPartition: CommittedOffset]
    {
        guard !partitions.isEmpty else { return [:] }
        let requests = try requests(ofGroup: group)
        do { return try await requests.committed(partitions, deadline: deadline) } catch {
            throw error.code == .timedOut ? await requests.refusal() ?? error : error
        }
    }
}
