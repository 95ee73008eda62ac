import Kafka
import Records
import Synchronization
import Telemetry

/// A session of one consumer, from joining the group to leaving it.
///
/// Three tasks run beside the polling task: one passes batches to the stage in order, one awaits their
/// acknowledgements in the same order, one commits. `SessionCore` decides, under one lock; the tasks perform its
/// commands. Only the polling task changes the consumer's assignment.
final class ConsumerSession: Sendable {
    let loop: WorkerLoop
    let cluster: String
    let consumer: KafkaConsumer
    private let state: Mutex<SessionCore>
    /// The signal that there is room for a batch, an event to answer, or the end.
    private let turnSignal = Signal()
    /// The signal that there is an offset to commit.
    let commitSignal = Signal()
    /// The signal that outputs were acknowledged or given up.
    let outputSignal = Signal()
    /// The batches to process; `nil` after a reload of the settings, because the next batch may take a long time to
    /// arrive.
    private let work = AsyncStream<Batch?>.makeStream()

    init(_ loop: WorkerLoop, cluster: String) throws(KafkaError) {
        self.loop = loop
        self.cluster = cluster
        state = Mutex(SessionCore(loop.configuration, breaker: loop.breaker, cluster: cluster))
        let faults = loop.faults
        consumer = try KafkaConsumer(
            configuration: loop.configuration.consumerProperties.merging(["statistics.interval.ms": "1000"]) { $1 },
            handlers: KafkaLogging.handlers(loop.log, client: "consumer") { error in
                if error.code == .allBrokersDown || error.code == .unauthenticated { faults.failed(.connection, error) }
            })
    }

    var configuration: WorkerConfiguration { loop.configuration }
    /// The writer of answers.
    ///
    /// `nil` if the worker answers no record.
    var outcomes: OutcomeWriter? {
        configuration.outcomesTopic.map {
            OutcomeWriter(topic: $0, readsObservations: configuration.stage.readsObservations)
        }
    }
    var log: Log { loop.log }
    var mustAbort: Bool { core { $0.isAborted } }

    /// Passes an event to the core and performs its commands; callable from any task.
    func core<Answer: Sendable>(_ event: (inout SessionCore) -> Answer) -> Answer {
        let (answer, commands) = state.withLock { core in
            let answer = event(&core)
            return (answer, core.takeCommands())
        }
        commands.forEach(perform)
        return answer
    }

    func stop() { core { $0.stop() } }

    /// Reports that a reload has replaced the stage.
    func settingsChanged() { work.continuation.yield(nil) }

    /// Runs until stopped, or until an error ends the consumer; returns that error.
    func run() async -> KafkaError? {
        let (delivered, deliveredInput) = AsyncStream<DeliveredBatch>.makeStream()
        let processing = Task { await process(work.stream, into: deliveredInput) }
        let settling = Task { await settle(delivered) }
        let committing = Task { await commitRepeatedly() }
        let watching = Task { await watchConnection() }
        let error = await poll()
        work.continuation.finish()
        let isStuck = core { $0.batchesInFlight > 0 }
        if error != nil || loop.isOutdated || isStuck && !loop.mustStop {
            if error == nil { await commitLast() }
            await discardEverything(processing, settling)
        } else if isStuck {
            // The process ends, so no other session processes these batches.
            core { $0.abort() }
        } else {
            await processing.value
            await settling.value
        }
        watching.cancel()
        committing.cancel()
        commitSignal.send()
        await committing.value
        if error == nil { await commitLast() }
        // A worker that only reconnects joins again at once; a worker that failed may, too.
        let isLeaving = loop.isOutdated || loop.mustStop && configuration.leavesOnStop
        await consumer.close(isLeaving: error == nil && isLeaving, deadline: configuration.closeDeadline)
        loop.health.notReady(.assigned, "left the group")
        core { $0.forgetHolds() }
        loop.breaker = core { $0.breaker }
        return error
    }

    /// Discards all batches when the consumer is closed or replaced.
    ///
    /// No batch in flight can be committed, and a new consumer will read the batches again; the stage must first have
    /// finished with them.
    private func discardEverything(_ tasks: Task<Void, Never>...) async {
        let partitions = core { core in
            core.abort()
            let partitions = Array(core.assignment.partitions.keys)
            core.assignment.release(partitions)
            return partitions
        }
        for task in tasks { await task.value }
        await loop.stage.abandoned(partitions)
    }

    private func perform(_ command: SessionCommand) {
        switch command {
        case .process(let batch):
            loop.metrics.batchRecords.observe(Double(batch.records.count))
            work.continuation.yield(batch)
        case .turn:
            turnSignal.send()
            consumer.wake()
        case .commit: commitSignal.send()
        case .setObstacle(nil): loop.health.ready(.assigned)
        case .setObstacle(let reason?): loop.health.notReady(.assigned, reason)
        case .setPartitions(let count): loop.metrics.partitions.set(count)
        case .setBatchesInFlight(let count): loop.metrics.batchesInFlight.set(count)
        case .settled(let increment): loop.metrics.settled(increment)
        case .committed(let result): loop.metrics.commits[result].increment()
        case .failed(let kind, let error): loop.faults.failed(kind, error)
        case .holdsEnded(let verdict?): loop.faults.answered(by: verdict)
        case .holdsEnded(nil): loop.faults.dropped(.held)
        case .reportMissing(let topic): WorkerLoop.reportMissing(topic, log)
        case .breakerTripped(let limit, let refused): reportTripped(limit, refused)
        case .breakerPasses:
            loop.metrics.breaker.set(0)
            loop.health.ready(.breaker)
        case .log(let level, let message, let metadata): log(level, message, metadata)
        }
    }

    private func reportTripped(_ limit: Int, _ refused: [String]) {
        loop.metrics.breaker.set(1)
        let isNew = loop.health.notReady(
            .breaker, "breaker tripped: the settings refuse " + refused.prefix(3).joined(separator: ", "))
        guard isNew else { return }
        log.critical(
            "breaker tripped, reading without committing",
            ["breaker.limit": .int(limit), "breaker.refused": .array(refused.map { .string($0) })])
    }
}

/// The work of the polling task.
extension ConsumerSession {
    /// Polls until the end; returns the error that ended the consumer.
    private func poll() async -> KafkaError? {
        do {
            try await consumer.subscribe(configuration.inputTopics)
            while !core({ $0.isStopped }) { try await turn() }
            log.info(
                loop.mustStop
                    ? "shutting down, finishing batches in flight"
                    : "reconnecting to Kafka, finishing batches in flight")
            let end = ContinuousClock.now + configuration.shutdownBudget
            while core({ $0.batchesInFlight }) > 0, ContinuousClock.now < end { try await turn() }
            return nil
        } catch { return error }
    }

    private func turn() async throws(KafkaError) {
        loop.health.progressed()
        let (wait, commands) = core { ($0.turn(.now), $0.takeConsumerCommands()) }
        try await perform(commands)
        if let wait {
            await turnSignal.wait(for: wait)
            return
        }
        let result = try await consumer.poll(
            recordsMax: min(configuration.batchRecordsMax, loop.stage.recordsMax),
            bytesMax: configuration.batchBytesMax, wait: configuration.pollWait)
        for found in result.errors where found.error.isFatal { throw found.error }
        let lows = await firstOffsets(core { $0.assignment.gapped(result) })
        let answers = core { core in
            core.polled(result, lows: lows, .now)
            return core.takeConsumerCommands()
        }
        try await perform(answers)
    }

    /// Returns the current first offsets of the logs; empty if no broker answers in time.
    private func firstOffsets(_ partitions: [TopicPartition]) async -> [TopicPartition: Int64] {
        guard !partitions.isEmpty else { return [:] }
        return (try? await consumer.firstOffsets(partitions, deadline: .seconds(2))) ?? [:]
    }

    private func perform(_ commands: [ConsumerCommand]) async throws(KafkaError) {
        for command in commands {
            switch command {
            case .load(let claims): Task { await load(claims) }
            case .assign(let positions): try await consumer.assign(with: positions)
            case .pause(let partitions): try await consumer.pause(partitions)
            case .resume(let partitions): try await consumer.resume(partitions)
            case .seek(let positions, let isResuming): try await seek(positions, isResuming)
            case .completeRevocation(let partitions): try await consumer.completeRevocation(partitions)
            }
        }
    }

    private func seek(_ positions: [TopicPartition: Int64], _ isResuming: Bool) async throws(KafkaError) {
        do {
            try await consumer.seek(positions, deadline: .seconds(2))
            if isResuming { try await consumer.resume(Array(positions.keys)) }
        } catch {
            guard !error.isFatal else { throw error }
            log.warning("seek failed, retrying", ["error": "\(error)"])
            return
        }
        core { $0.sought(positions) }
    }

    /// Requests the committed offsets until they arrive; polling continues during the requests.
    private func load(_ claims: [PartitionClaim]) async {
        var backoff = configuration.backoff
        while !mustAbort {
            do {
                let committed =
                    claims.isEmpty
                    ? [:]
                    : try await loop.faults.attempt(.offsets) {
                        try await consumer.committed(claims.map(\.partition), deadline: configuration.callDeadline)
                    }
                core { $0.begin(claims, committed) }
                return
            } catch {
                guard (error as? KafkaError)?.code != .closed else { break }
                try? await Task.sleep(for: backoff.nextDelay())
            }
        }
        loop.faults.dropped(.offsets)
    }

    /// Requests the topics every two seconds while a topic is missing or the brokers fail, otherwise every ten.
    ///
    /// The first answer ends the fault, and makes the group detect a new topic. An idle worker learns only so that all
    /// brokers are away: librdkafka reports it once, and not if one of its connections was closed before.
    private func watchConnection() async {
        var pauses = 0
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(2))
            pauses += 1
            guard pauses >= 5 || loop.faults.isFailing(.broker) || core({ $0.lacksTopics }) else { continue }
            pauses = 0
            let answer = try? await loop.faults.attempt(.connection) {
                try await consumer.metadata(deadline: .seconds(5))
            }
            guard let metadata = answer else { continue }
            core { $0.found(metadata.topics.filter { $0.error == nil }.map(\.name)) }
        }
    }
}
