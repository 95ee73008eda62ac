import Synchronization
import Threads

extension KafkaConsumer {
    /// Commits, each partition with its metadata, without ever keeping `poll` from going on.
    ///
    /// librdkafka repeats what can be repeated while the coordinator is away, and the deadline ends
    /// the waiting: whether a commit that was given up took effect is then unknown. From any
    /// thread.
    package nonisolated func commit(
        _ commits: [TopicPartition: OffsetCommit],
        deadline: Duration
    ) async -> CommitOutcome {
        guard !commits.isEmpty else { return CommitOutcome(failures: [:]) }
        guard let client = shared.client else {
            return .failed(commits.keys, .closed("consumer"))
        }
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
        return await pending.outcome(of: number)
            ?? .failed(commits.keys, .deadline("the commit"))
    }

    /// What the group has committed.
    ///
    /// Asks the broker, on another thread than `poll`'s.
    package nonisolated func committed(
        _ partitions: [TopicPartition],
        deadline: Duration
    ) async throws(KafkaError) -> [TopicPartition: CommittedOffset] {
        try await questions.committed(partitions, deadline: deadline)
    }

    /// Asks the broker, on another thread than `poll`'s.
    package nonisolated func watermarks(
        _ partition: TopicPartition,
        deadline: Duration
    ) async throws(KafkaError) -> Watermarks {
        try await questions.watermarks(partition, deadline: deadline)
    }

    /// Asks for all topics, which also makes the group notice one that has appeared.
    package nonisolated func metadata(deadline: Duration) async throws(KafkaError)
        -> ClusterMetadata
    {
        try await questions.metadata(topic: nil, deadline: deadline)
    }

    /// Leaves the group (a static member stays in it) and ends the client.
    ///
    /// - Returns: whether the group was left within the deadline; the client is gone either way.
    @discardableResult
    package func close(deadline: Duration) async -> Bool {
        guard let client else { return true }
        client.callbacks.isClosing.store(true, ordering: .releasing)
        shared.close()
        await questions.close()
        self.client = nil
        let isClosed = queue.close(
            client,
            taking: unanswered,
            givingUp: revoking,
            deadline: deadline
        )
        client.callbacks.commits.abandonAll()
        executor.stop()
        return isClosed
    }
}
