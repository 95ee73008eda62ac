import Kafka
import Synchronization

extension ConsumerSession {
    /// Answers what other tasks have prepared since the last turn.
    func answerWhatIsDue() async throws(KafkaError) {
        let (loaded, rewinds) = polling.withLock { polling in
            defer { polling.loaded = [] }
            return (polling.loaded, polling.rewinds)
        }
        for offsets in loaded {
            try await begin(offsets)
        }
        if !rewinds.isEmpty {
            try await rewind(rewinds)
        }
        try await completeRevocations()
        try await keepHolds()
        tickBreaker()
    }

    /// Takes up what the group has decided.
    func answer(_ events: [RebalanceEvent]) async throws(KafkaError) {
        for event in events {
            switch event {
            case .assigned(let partitions):
                report("partitions assigned", partitions)
                let claims = assignment.withLock { $0.assign(partitions) }
                Task { await load(claims) }
            case .revoking(let partitions):
                report("partitions revoked, finishing batches in flight", partitions)
                assignment.withLock { $0.revoke(partitions) }
                let revocation = PollingState.Revocation(
                    partitions: partitions,
                    deadline: .now + configuration.revocationBudget
                )
                polling.withLock { $0.revocations.append(revocation) }
                commitSignal.send()
            case .lost(let partitions):
                report("partitions lost, discarding batches in flight", partitions)
                assignment.withLock { $0.release(partitions) }
                showPartitions()
            }
        }
        if !events.isEmpty {
            polling.withLock { $0.isGroupBalanced = false }
            try await completeRevocations()
        }
    }

    /// Updates the condition `assigned`, which holds while a partition is read, or without any
    /// while the group is balanced.
    ///
    /// A worker that lost its partitions, or waits for the other members, settles nothing.
    func showReadiness() {
        let isReading = assignment.withLock { $0.isReading }
        let reason: String? = polling.withLock { polling in
            if let topic = polling.missingTopics.min() {
                return "topic \(topic) is missing or not authorized"
            }
            if let error = polling.refusals.last { return "\(error)" }
            return isReading || polling.isGroupBalanced ? nil : "waiting for the group"
        }
        if let reason {
            loop.health.notReady(.assigned, reason)
        } else {
            loop.health.ready(.assigned)
        }
    }

    func report(_ message: StaticString, _ partitions: [TopicPartition]) {
        log.info(
            message,
            [
                "kafka.partitions": .array(
                    partitions.sorted().map { .string("\($0.topic)/\($0.partition)") }
                )
            ]
        )
    }

    private func showPartitions() {
        let count = assignment.withLock { $0.partitions.count }
        loop.metrics.partitions.set(count)
    }

    /// Requests the committed offsets until they arrive, while polling continues.
    private func load(_ claims: [PartitionClaim]) async {
        var backoff = configuration.backoff
        while !mustAbort {
            do {
                let committed =
                    claims.isEmpty
                    ? [:]
                    : try await consumer.committed(
                        claims.map(\.partition),
                        deadline: configuration.callDeadline
                    )
                loop.faults.succeeded(.offsets)
                let offsets = PollingState.LoadedOffsets(claims: claims, committed: committed)
                polling.withLock { $0.loaded.append(offsets) }
                wakePolling()
                return
            } catch {
                guard error.code != .closed else { return }
                loop.faults.failed(.offsets, error)
                try? await Task.sleep(for: backoff.nextDelay())
            }
        }
    }

    /// Starts reading where the last owner committed, with the tally that it left.
    ///
    /// The group is answered even if the partitions have been lost: librdkafka waits for it.
    private func begin(_ offsets: PollingState.LoadedOffsets) async throws(KafkaError) {
        var positions: [TopicPartition: Int64?] = [:]
        for claim in offsets.claims {
            let committed =
                offsets.committed[claim.partition]
                ?? CommittedOffset(offset: nil, metadata: "")
            positions[claim.partition] = .some(committed.offset)
            if let start = assignment.withLock({ $0.begin(claim, committed) }) {
                report(start, claim.partition)
            }
        }
        compareAcceptance()
        try await consumer.assign(with: positions)
        if polling.withLock({ $0.isPaused }) {
            try await consumer.pause(offsets.claims.map(\.partition))
        }
        polling.withLock { $0.refusals = [] }
        loop.faults.succeeded(.connection)
        showPartitions()
    }

    private func report(_ start: TallyStart, _ partition: TopicPartition) {
        var metadata: LogMetadata = [
            "kafka.topic": .string(partition.topic),
            "kafka.partition": .int(partition.partition),
        ]
        switch start {
        case .first, .resumed: break
        case .begunAnew(let offset, let text):
            metadata.append("kafka.offset", .int(offset))
            metadata.append("commit.has_metadata", .bool(!text.isEmpty))
            log.error("commit metadata missing or unreadable, counts restart", metadata)
        case .inconsistent(let tally, let offset):
            metadata.append("kafka.offset", .int(offset))
            metadata.append("tally.began", .int(tally.began))
            metadata.append("tally.total", .int(tally.total))
            log.error("commit metadata inconsistent, counts do not add up to the offset", metadata)
        }
    }

    /// Gives up revoked partitions once they are quiet, or when their time is over.
    private func completeRevocations() async throws(KafkaError) {
        let waiting = polling.withLock { polling in
            defer { polling.revocations = [] }
            return polling.revocations
        }
        var remaining: [PollingState.Revocation] = []
        for revocation in waiting {
            let isQuiet = assignment.withLock { $0.isQuiet(revocation.partitions) }
            guard isQuiet || revocation.deadline <= .now else {
                remaining.append(revocation)
                continue
            }
            if !isQuiet {
                report("revocation timed out, batches in flight discarded", revocation.partitions)
            }
            assignment.withLock { $0.release(revocation.partitions) }
            try await consumer.completeRevocation(revocation.partitions)
            showPartitions()
        }
        let kept = remaining
        polling.withLock { $0.revocations += kept }
    }

    /// Pauses everything, so that polling brings events and no records.
    func pause() async throws(KafkaError) {
        guard !polling.withLock({ $0.isPaused }) else { return }
        let partitions = assignment.withLock { $0.readable }
        try await consumer.pause(partitions)
        polling.withLock { $0.isPaused = true }
        log.info(
            "partitions paused, too many batches in flight",
            ["partitions": .int(partitions.count)]
        )
    }

    func resume() async throws(KafkaError) {
        let wasPaused = polling.withLock { polling in
            polling.fullSince = nil
            return polling.isPaused
        }
        guard wasPaused else { return }
        let partitions = assignment.withLock { $0.readable }
        try await consumer.resume(partitions)
        polling.withLock { $0.isPaused = false }
        log.info("partitions resumed", ["partitions": .int(partitions.count)])
    }

    /// Says what a poll complained of, each missing topic once; throws what ends the consumer.
    func note(_ errors: [PartitionError]) async throws(KafkaError) {
        for found in errors {
            let error = found.error
            guard !error.isFatal else { throw error }
            if error.code == .unknownTopicOrPartition, let place = found.topicPartition {
                noteMissing(place.topic)
            } else if error.code == .unauthorized {
                noteRefusal(error, found.topicPartition?.topic)
            } else if error.code != .maxPollExceeded {
                log.debug("consumer error", ["error": "\(error)"])
            }
        }
    }

    private func noteMissing(_ topic: String) {
        let isNew = polling.withLock { $0.missingTopics.insert(topic).inserted }
        guard isNew else { return }
        showReadiness()
        WorkerLoop.reportMissing(topic, log)
    }

    /// The broker answers, and lets this worker neither join its group nor read its topic.
    private func noteRefusal(_ error: KafkaError, _ topic: String?) {
        let isNew = polling.withLock { polling in
            guard !polling.refusals.contains(where: { $0.name == error.name }) else { return false }
            polling.refusals.append(error)
            return true
        }
        guard isNew else { return }
        showReadiness()
        var metadata: LogMetadata = [
            "kafka.group": .string(configuration.consumerProperties["group.id"] ?? ""),
            "error": .string("\(error)"),
        ]
        if let topic { metadata.append("kafka.topic", .string(topic)) }
        log.error("not authorized to read, retrying", metadata)
    }

    /// Records come: whatever was refused is allowed now.
    func noteAllowed() {
        polling.withLock { $0.refusals = [] }
    }

    /// Asks for the topics now and then while one is missing or the brokers are away: the first
    /// answer ends the fault, and lets the group notice a topic that has appeared.
    func watchConnection() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(2))
            let isMissing = polling.withLock { !$0.missingTopics.isEmpty }
            let hasNothing = assignment.withLock { $0.partitions.isEmpty }
            guard loop.faults.isFailing(.connection) || isMissing || hasNothing else { continue }
            guard let metadata = try? await consumer.metadata(deadline: .seconds(5)) else {
                continue
            }
            loop.faults.succeeded(.connection)
            let present = metadata.topics.filter { $0.error == nil }.map(\.name)
            let found = polling.withLock { polling in
                let found = polling.missingTopics.intersection(present)
                polling.missingTopics.subtract(found)
                // It balanced without this topic.
                if !found.isEmpty { polling.isGroupBalanced = false }
                return found
            }
            for topic in found {
                log.notice("topic found", ["kafka.topic": .string(topic)])
            }
        }
    }
}
