import CRDKafka
import Synchronization
import Threads

extension KafkaConsumer {
    /// Answers `.assigned`: starts fetching at the given offsets, from the beginning for `nil`.
    package func assign(with positions: [TopicPartition: Int64?]) throws(KafkaError) {
        let client = try opened()
        unanswered = unanswered.flatMap { unanswered in
            let remaining = unanswered.subtracting(positions.keys)
            return remaining.isEmpty ? nil : remaining
        }
        let list = PartitionList(positions.mapValues { $0 ?? PartitionList.beginning })
        // A pause from an earlier assignment of the same partition would outlast that assignment.
        _ = unsafe rd_kafka_resume_partitions(client.pointer, list.pointer)
        if let error = unsafe rd_kafka_incremental_assign(client.pointer, list.pointer) {
            throw unsafe KafkaError(takingOwnershipOf: error)
        }
    }

    /// Answers `.revoking`: releases the partitions.
    ///
    /// Partitions that the consumer has lost since then are left out.
    package func completeRevocation(_ partitions: [TopicPartition]) throws(KafkaError) {
        let client = try opened()
        let remaining = partitions.filter { revoking.remove($0) != nil }
        guard !remaining.isEmpty else { return }
        let list = PartitionList(remaining)
        if let error = unsafe rd_kafka_incremental_unassign(client.pointer, list.pointer) {
            throw unsafe KafkaError(takingOwnershipOf: error)
        }
    }

    /// Stops fetching; librdkafka drops its fetched records of these partitions and fetches them again.
    package func pause(_ partitions: some Collection<TopicPartition>) throws(KafkaError) {
        let client = try opened()
        let list = PartitionList(partitions)
        let code = unsafe rd_kafka_pause_partitions(client.pointer, list.pointer)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code) }
    }

    /// Resumes fetching after the last record that `poll` has returned.
    package func resume(_ partitions: some Collection<TopicPartition>) throws(KafkaError) {
        let client = try opened()
        let list = PartitionList(partitions)
        let code = unsafe rd_kafka_resume_partitions(client.pointer, list.pointer)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code) }
    }

    /// Reads assigned partitions again from the given offsets.
    ///
    /// Waits until the seek has taken effect: `poll` then returns records from these offsets. Fails as a whole if one
    /// partition could not be set within the deadline.
    package func seek(_ positions: [TopicPartition: Int64], deadline: Duration) throws(KafkaError) {
        let client = try opened()
        let list = PartitionList(positions)
        // Before release 2.1, librdkafka treats the milliseconds as microseconds here (its pull request 4230): a
        // deadline of 30 s passed after 30 ms.
        let isShortened = rd_kafka_version() < 0x0201_0000
        let error = unsafe rd_kafka_seek_partitions(
            client.pointer, list.pointer, (isShortened ? deadline * 1_000 : deadline).millisecondsClamped)
        if let error = unsafe error { throw unsafe KafkaError(takingOwnershipOf: error) }
        for element in list.elements() { if let error = element.error { throw error } }
    }

    /// The partition's watermarks from the last fetch, without a request to the broker.
    package nonisolated func cachedWatermarks(_ partition: TopicPartition) -> Watermarks? {
        shared.client?.cachedWatermarks(partition)
    }
}

extension KafkaConsumer {
    /// Commits each partition's offset with its metadata, without blocking `poll`.
    ///
    /// librdkafka repeats retriable requests while the coordinator is unavailable, until the deadline. Whether a
    /// commit took effect is unknown after the deadline. Any thread may call this.
    package nonisolated func commit(_ commits: [TopicPartition: OffsetCommit], deadline: Duration) async
        -> CommitOutcome
    {
        guard !commits.isEmpty else { return CommitOutcome(failures: [:]) }
        guard let client = shared.client else { return .failed(commits.keys, .closed("consumer")) }
        let pending = client.callbacks.commits
        let number = pending.open()
        let timer = Task {
            try? await Task.sleep(for: deadline)
            pending.resolve(number, with: nil)
        }
        defer { timer.cancel() }
        if let error = client.sendCommit(commits, number: number) {
            pending.resolve(number, with: .failed(commits.keys, error))
        }
        return await pending.outcome(of: number) ?? .failed(commits.keys, .deadline("the commit"))
    }

    /// The group's committed offsets.
    ///
    /// The request runs on another thread than `poll`.
    package nonisolated func committed(_ partitions: [TopicPartition], deadline: Duration) async throws(KafkaError)
        -> [TopicPartition: CommittedOffset]
    { try await requests.committed(partitions, deadline: deadline) }

    /// The first offset of each partition's log, from its broker: one request per broker.
    package nonisolated func firstOffsets(_ partitions: [TopicPartition], deadline: Duration) async throws(KafkaError)
        -> [TopicPartition: Int64]
    {
        let beginnings = Dictionary(uniqueKeysWithValues: partitions.map { ($0, PartitionList.beginning) })
        return try await requests.offsets(beginnings, deadline: deadline)
    }

    /// Requests all topics, which also makes the group detect a new topic.
    package nonisolated func metadata(deadline: Duration) async throws(KafkaError) -> ClusterMetadata {
        try await requests.metadata(topic: nil, deadline: deadline)
    }

    /// Ends the client and its membership in the group.
    ///
    /// - Parameter isLeaving: whether a static member leaves too, so that others get its partitions at once. Otherwise
    ///   the group reserves them until `session.timeout.ms` has passed (KIP-345). Other members always leave.
    /// - Returns: whether the membership ended within the deadline; the client is closed in any case.
    @discardableResult package func close(isLeaving: Bool = false, deadline: Duration) async -> Bool {
        guard let client else { return true }
        client.callbacks.isClosing.store(true, ordering: .releasing)
        shared.close()
        await requests.close()
        self.client = nil
        let isClosed = queue.close(
            client, taking: unanswered, givingUp: revoking, isLeaving: isLeaving, deadline: deadline)
        client.callbacks.commits.abandonAll()
        executor.stop()
        return isClosed
    }
}
