import CRDKafka
import Platform
import Threads

/// Questions and orders to the cluster, each within a deadline, on a thread of their own.
package actor KafkaAdmin {
    private let executor = ThreadExecutor(name: "kafka-admin")
    private var client: ClientHandle?
    private let requests: KafkaRequests
    private let configuration: [String: String]
    private let handlers: KafkaHandlers
    /// A consumer for each group that was asked about; none of them joins its group.
    private var groups: [String: KafkaRequests] = [:]

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// Makes the client; no connection is waited for.
    ///
    /// - Parameter isOfNewestIdentity: false to try an identity that another may have replaced.
    package init(
        configuration: [String: String], handlers: KafkaHandlers = KafkaHandlers(), isOfNewestIdentity: Bool = true
    ) throws(KafkaError) {
        let client = try ClientHandle.admin(configuration, handlers: handlers, isOfNewestIdentity: isOfNewestIdentity)
        self.client = client
        requests = KafkaRequests(client)
        self.configuration = configuration
        self.handlers = handlers
    }

    /// Lends a client to `body` and closes it afterwards, however that ends.
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

    /// Turns "the broker cannot or may not answer this" from an error into a value.
    ///
    /// librdkafka's mock names no controller, so such a question ends by its deadline. Brokers that
    /// answer about their topics at the same time are up and leave this question unanswered.
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

    /// The cluster's ID as its brokers say it; the bootstrap servers if they say none.
    ///
    /// Fails when no broker answers in time.
    package nonisolated func clusterID(deadline: Duration) async throws(KafkaError) -> String {
        _ = try await requests.metadata(topic: nil, deadline: deadline)
        return await requests.clusterID() ?? configuration["bootstrap.servers"] ?? ""
    }

    /// - Parameter topic: nil asks for all. A topic that does not exist has its error, and
    ///   created by the request where the brokers are set up so: a reader asks for all.
    package nonisolated func metadata(topic: String? = nil, deadline: Duration) async throws(KafkaError)
        -> ClusterMetadata
    { try await requests.metadata(topic: topic, deadline: deadline) }

    /// The offsets between which each partition holds records: two requests per broker.
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

    /// The first offset at or after a time; a partition that has none is left out.
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

/// A question to librdkafka's admin interface: its queue and options, freed with it.
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
    /// - Parameter send: called with the client, the options and the queue, in librdkafka's order.
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

    /// librdkafka ends the request by its own timeout; this is for its report to arrive.
    private static let grace = Duration.seconds(1)
}

/// The answer to a question that a broker may not know: an old one, or librdkafka's mock.
package enum KafkaAnswer<Value: Sendable>: Sendable {
    case answered(Value)
    /// The broker does not know the question, or does not let this client ask it.
    case unanswered(KafkaError)

    package var value: Value? {
        guard case .answered(let value) = self else { return nil }
        return value
    }
}

extension KafkaAnswer: Equatable where Value: Equatable {}

extension KafkaAdmin {
    /// The offsets that a group has committed, with metadata, whether it has members or not.
    ///
    /// Asked by a client of that group, which does not join it: librdkafka's admin call for it ends
    /// the process where the coordinator has moved or is not there yet (its issue 5040).
    ///
    /// - Parameter partitions: those without a commit are in the result with offset nil.
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
