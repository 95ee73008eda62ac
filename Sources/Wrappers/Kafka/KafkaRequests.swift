import CRDKafka
import Platform
import Synchronization
import Threads

/// librdkafka's blocking requests, on their own thread, so that polling continues.
actor KafkaRequests {
    private let executor = ThreadExecutor(name: "kafka-request")
    private var client: ClientHandle?
    private var reportedRefusal: KafkaError?
    private nonisolated let prompts = Mutex(FetchPrompts())

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    init(_ client: ClientHandle) { self.client = client }

    func close() {
        client = nil
        executor.stop()
    }

    func committed(_ partitions: [TopicPartition], deadline: Duration) async throws(KafkaError) -> [TopicPartition:
        CommittedOffset]
    {
        try await repeating(within: deadline) { remaining throws(KafkaError) in
            let client = try opened()
            let list = PartitionList(partitions)
            let timeout = remaining.millisecondsClamped
            let code = unsafe rd_kafka_committed(client.pointer, list.pointer, timeout)
            guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code) }
            return try list.values(\.committed)
        }
    }

    /// The missing right that makes requests of an unpolled client fail only at their deadline.
    ///
    /// librdkafka puts the error into the consumer's queue, once, and continues to look for the group's coordinator.
    func refusal() -> KafkaError? {
        guard let client else { return nil }
        while let message = unsafe rd_kafka_consumer_poll(client.pointer, 0) {
            defer { unsafe rd_kafka_message_destroy(message) }
            let text = unsafe String(optionalCString: rd_kafka_message_errstr(message))
            let error = unsafe KafkaError(message.pointee.err, message: text)
            if error.code == .unauthorized { reportedRefusal = error }
        }
        return reportedRefusal
    }

    /// Maximum time of retries for an unknown partition: a restarted broker may briefly not know its partitions.
    private static let unknownPartitionWait = Duration.seconds(3)

    /// Repeats a request until the deadline if it reached the wrong broker, because the coordinator is not yet known
    /// or the leader has moved.
    ///
    /// A request for an unknown partition is repeated for `unknownPartitionWait`.
    private func repeating<Answer>(
        within deadline: Duration, _ ask: (_ remaining: Duration) throws(KafkaError) -> Answer
    ) async throws(KafkaError) -> Answer {
        let start = ContinuousClock.now
        let end = start + deadline
        let wait = client?.wait(within: deadline)
        while true {
            do {
                let answer = try ask(max(end - .now, .milliseconds(1)))
                wait?.answered()
                return answer
            } catch {
                let isOver = ContinuousClock.now >= end || Task.isCancelled
                let mayAppear =
                    error.code == .unknownTopicOrPartition && ContinuousClock.now < start + Self.unknownPartitionWait
                guard error.code.isAskedOfAnother || mayAppear, !isOver else { throw error }
                try? await Task.sleep(for: .milliseconds(100))
                if error.code == .leaderMoved || mayAppear {
                    // On failure, librdkafka continues with the brokers that it knows.
                    _ = try? metadata(topic: nil, deadline: max(end - .now, .milliseconds(1)))
                }
            }
        }
    }

    /// Finds the offset of a timestamp, or of the start or end, in each partition.
    ///
    /// Each broker receives one request.
    func offsets(_ times: [TopicPartition: Int64], deadline: Duration) async throws(KafkaError) -> [TopicPartition:
        Int64]
    { try await repeating(within: deadline) { remaining throws(KafkaError) in try offsets(times, within: remaining) } }

    private func offsets(_ times: [TopicPartition: Int64], within limit: Duration) throws(KafkaError)
        -> [TopicPartition: Int64]
    {
        let client = try opened()
        let list = PartitionList(times)
        let timeout = limit.millisecondsClamped
        let code = unsafe rd_kafka_offsets_for_times(client.pointer, list.pointer, timeout)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code) }
        return try list.values(\.offset)
    }

    /// Sends a request to the partitions' leaders, which makes their threads check the queue for room.
    nonisolated func promptFetching(_ partitions: Set<TopicPartition>) {
        guard !partitions.isEmpty, prompts.withLock({ $0.add(partitions) }) else { return }
        Task { while let partitions = prompts.withLock({ $0.next() }) { await askForEnds(of: partitions) } }
    }

    private func askForEnds(of partitions: Set<TopicPartition>) {
        let ends = Dictionary(uniqueKeysWithValues: partitions.map { ($0, PartitionList.end) })
        // Any answer has woken the thread.
        _ = try? offsets(ends, within: .milliseconds(500))
    }

    /// Returns the cluster's ID from the last metadata.
    ///
    /// `nil` if the metadata did not contain an ID.
    func clusterID() -> String? {
        guard let client, let text = unsafe rd_kafka_clusterid(client.pointer, 0) else { return nil }
        defer { unsafe rd_kafka_mem_free(client.pointer, text) }
        return unsafe String(cString: text)
    }

    /// - Parameter topic: the topic; `nil` requests all topics. A topic that does not exist has its error.
    func metadata(topic: String?, deadline: Duration) throws(KafkaError) -> ClusterMetadata {
        let client = try opened()
        var handle: OpaquePointer?
        if let topic { unsafe handle = rd_kafka_topic_new(client.pointer, topic, nil) }
        defer { if let handle = unsafe handle { unsafe rd_kafka_topic_destroy(handle) } }
        let wait = client.wait(within: deadline)
        var answer: UnsafePointer<rd_kafka_metadata>?
        let code = unsafe rd_kafka_metadata(
            client.pointer, topic == nil ? 1 : 0, handle, &answer, deadline.millisecondsClamped)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let answer = unsafe answer else {
            throw client.explained(KafkaError(code))
        }
        client.callbacks.recordAnswer()
        wait?.answered()
        defer { unsafe rd_kafka_metadata_destroy(answer) }
        return unsafe ClusterMetadata(answer.pointee)
    }

    private func opened() throws(KafkaError) -> ClientHandle {
        guard let client else { throw .closed("client") }
        return client
    }
}
