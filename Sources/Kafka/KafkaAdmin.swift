import CRDKafka
import Threads

/// Questions and orders to the cluster, each within a deadline, on a thread of their own.
package actor KafkaAdmin {
    private let executor = ThreadExecutor(name: "kafka-admin")
    private var client: ClientHandle?
    private let questions: KafkaQuestions
    private let configuration: [String: String]
    private let handlers: KafkaHandlers
    /// A consumer for each group that was asked about; none of them joins its group.
    private var groups: [String: KafkaQuestions] = [:]

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// Makes the client; no connection is waited for.
    package init(
        configuration: [String: String],
        handlers: KafkaHandlers = KafkaHandlers()
    ) throws(KafkaError) {
        let client = try ClientHandle.admin(configuration, handlers: handlers)
        self.client = client
        questions = KafkaQuestions(client)
        self.configuration = configuration
        self.handlers = handlers
    }

    package func close() async {
        await questions.close()
        for group in groups.values {
            await group.close()
        }
        groups = [:]
        client = nil
        executor.stop()
    }

    func opened() throws(KafkaError) -> ClientHandle {
        guard let client else { throw .closed("admin client") }
        return client
    }

    func questions(ofGroup name: String) throws(KafkaError) -> KafkaQuestions {
        _ = try opened()
        if let known = groups[name] { return known }
        let properties = configuration.merging(["group.id": name]) { $1 }
        let made = KafkaQuestions(try ClientHandle.consumer(properties, handlers: handlers))
        groups[name] = made
        return made
    }

    /// Turns "the broker cannot or may not answer this" from an error into a value.
    ///
    /// librdkafka's mock names no controller, so that such a question ends by its deadline; brokers
    /// that answer about their topics meanwhile are there and leave it unanswered.
    func answer<Value: Sendable>(
        within deadline: Duration,
        _ body: (ClientHandle) throws(KafkaError) -> Value
    ) async throws(KafkaError) -> KafkaAnswer<Value> {
        do {
            return .answered(try body(try opened()))
        } catch {
            switch error.code {
            case .unsupported, .unauthorized: return .unanswered(error)
            case .timedOut:
                guard (try? await questions.metadata(topic: nil, deadline: deadline)) != nil else {
                    throw error
                }
                return .unanswered(error)
            default: throw error
            }
        }
    }

    /// The cluster's ID as its brokers say it; the bootstrap servers where they say none.
    ///
    /// Fails when no broker answers in time.
    package nonisolated func clusterID(deadline: Duration) async throws(KafkaError) -> String {
        _ = try await questions.metadata(topic: nil, deadline: deadline)
        return await questions.clusterID()
            ?? configuration["bootstrap.servers"] ?? ""
    }

    /// - Parameter topic: nil asks for all. A topic that does not exist is told by its error, and
    ///   made by the question where the brokers are set up so: who only looks asks for all.
    package nonisolated func metadata(
        topic: String? = nil,
        deadline: Duration
    ) async throws(KafkaError) -> ClusterMetadata {
        try await questions.metadata(topic: topic, deadline: deadline)
    }

    /// The offsets between which each partition holds records: two requests per broker.
    package nonisolated func listOffsets(
        _ partitions: [TopicPartition],
        deadline: Duration
    ) async throws(KafkaError) -> [TopicPartition: Watermarks] {
        guard !partitions.isEmpty else { return [:] }
        let low = try await offsets(partitions, at: PartitionList.beginning, deadline: deadline)
        let high = try await offsets(partitions, at: PartitionList.end, deadline: deadline)
        return low.reduce(into: [:]) { marks, element in
            guard let end = high[element.key] else { return }
            marks[element.key] = Watermarks(low: element.value, high: end)
        }
    }

    /// The first offset at or after a time; a partition that has none is left out.
    package nonisolated func offsets(
        _ partitions: [TopicPartition],
        atMilliseconds time: Int64,
        deadline: Duration
    ) async throws(KafkaError) -> [TopicPartition: Int64] {
        try await offsets(partitions, at: time, deadline: deadline).filter { $0.value >= 0 }
    }

    private nonisolated func offsets(
        _ partitions: [TopicPartition],
        at time: Int64,
        deadline: Duration
    ) async throws(KafkaError) -> [TopicPartition: Int64] {
        let times = Dictionary(uniqueKeysWithValues: partitions.map { ($0, time) })
        return try await questions.offsets(times, deadline: deadline)
    }
}
