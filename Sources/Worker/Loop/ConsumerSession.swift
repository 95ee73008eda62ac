import Kafka
import Records
import Synchronization

/// The life of one consumer: from joining the group to leaving it.
///
/// Three tasks beside the polling: one puts batches through the stage in order, one awaits their
/// acknowledgements in the same order, one commits. The assignment is shared under a lock;
/// everything that touches the consumer's assignment happens in the polling task.
final class ConsumerSession: Sendable {
    let loop: WorkerLoop
    let cluster: String
    let consumer: KafkaConsumer
    let assignment: Mutex<Assignment>
    let polling = Mutex(PollingState())
    /// Sent when there is room for a batch, something to answer, or the end.
    let turnSignal = Signal()
    /// Sent when there is something to commit.
    let commitSignal = Signal()
    let batchesInFlight = Atomic(0)
    /// Bytes of the outputs that are not yet acknowledged.
    let outputBytesInFlight = Atomic(0)
    /// Sent when outputs were acknowledged or given up.
    let outputSignal = Signal()
    /// Nothing is repeated any more: the budget is over, or the consumer is gone.
    let isAborted = Atomic(false)
    private let isStopped = Atomic(false)
    private let work = AsyncStream<StageWork>.makeStream()

    init(_ loop: WorkerLoop, cluster: String) throws(KafkaError) {
        self.loop = loop
        self.cluster = cluster
        assignment = Mutex(Assignment(counting: loop.configuration.stage.dispositions))
        let faults = loop.faults
        consumer = try KafkaConsumer(
            configuration: loop.configuration.consumerProperties.merging(
                ["statistics.interval.ms": "1000"]
            ) { $1 },
            handlers: KafkaLogging.handlers(loop.log, client: "consumer") { error in
                if error.code == .allBrokersDown || error.code == .unauthenticated {
                    faults.failed(.connection, error)
                }
            }
        )
    }

    var configuration: WorkerConfiguration { loop.configuration }
    /// Nil if no record is answered.
    var outcomes: OutcomeWriter? {
        configuration.outcomesTopic.map {
            OutcomeWriter(topic: $0, readsObservations: configuration.stage.readsObservations)
        }
    }
    var log: Log { loop.log }
    var mustAbort: Bool { isAborted.load(ordering: .acquiring) }
    private var mustStop: Bool { isStopped.load(ordering: .acquiring) }

    /// Discards the batches in flight and leaves the group, so that other workers do the work.
    func giveUp() {
        isAborted.store(true, ordering: .releasing)
        stop()
    }

    func stop() {
        isStopped.store(true, ordering: .releasing)
        wakePolling()
        commitSignal.send()
    }

    /// A reload has brought another stage.
    func settingsChanged() {
        work.continuation.yield(.reload)
    }

    /// Lets the polling task look at its state, whatever it waits for.
    func wakePolling() {
        turnSignal.send()
        consumer.wake()
    }

    /// Runs until stopped, or until an error ends the consumer, which is returned.
    func run() async -> KafkaError? {
        let (delivered, deliveredInput) = AsyncStream<DeliveredBatch>.makeStream()
        let processing = Task { await process(work.stream, into: deliveredInput) }
        let settling = Task { await settle(delivered) }
        let committing = Task { await commitRepeatedly() }
        let watching = Task { await watchConnection() }
        let error = await poll()
        work.continuation.finish()
        if error != nil || loop.isOutdated {
            if error == nil { await commitLast() }
            await discardEverything(processing, settling)
        } else if batchesInFlight.load(ordering: .acquiring) > 0 {
            abort()
        } else {
            await processing.value
            await settling.value
        }
        watching.cancel()
        committing.cancel()
        commitSignal.send()
        await committing.value
        if error == nil {
            await commitLast()
        }
        // A worker that only reconnects comes back at once, and one that has failed perhaps too.
        let isLeaving = loop.isOutdated || loop.mustStop && configuration.leavesOnStop
        await consumer.close(
            isLeaving: error == nil && isLeaving,
            deadline: configuration.closeDeadline
        )
        loop.health.notReady(.assigned, "left the group")
        forgetHolds()
        return error
    }

    /// Polls until the end; returns the error that ended the consumer.
    private func poll() async -> KafkaError? {
        do {
            try await consumer.subscribe(configuration.inputTopics)
            while !mustStop {
                try await turn()
            }
            log.info(
                loop.mustStop
                    ? "shutting down, finishing batches in flight"
                    : "reconnecting to Kafka, finishing batches in flight"
            )
            let end = ContinuousClock.now + configuration.shutdownBudget
            while batchesInFlight.load(ordering: .acquiring) > 0, ContinuousClock.now < end {
                try await turn()
            }
            return nil
        } catch {
            return error
        }
    }

    /// The consumer is gone: no batch in flight can be committed, and a new one is about to read it
    /// again, before which the stage has to be done with it.
    private func discardEverything(_ tasks: Task<Void, Never>...) async {
        abort()
        let partitions = assignment.withLock { assignment in
            let partitions = Array(assignment.partitions.keys)
            assignment.release(partitions)
            return partitions
        }
        for task in tasks {
            await task.value
        }
        await loop.stage.abandoned(partitions)
    }

    /// Discards the batches in flight: the next owner of the partitions reads them again.
    private func abort() {
        isAborted.store(true, ordering: .releasing)
        let count = batchesInFlight.load(ordering: .acquiring)
        guard count > 0 else { return }
        log.warning(
            "batches in flight discarded, their records are read again",
            ["batches": .int(count)]
        )
    }

    /// One turn of the loop: answers what is due, then polls records if there is room for them.
    private func turn() async throws(KafkaError) {
        loop.health.progressed()
        try await answerWhatIsDue()
        showReadiness()
        let hasRoom =
            batchesInFlight.load(ordering: .acquiring) < configuration.batchesInFlightMax
            && !mustStop
        if hasRoom {
            try await resume()
        } else if await waitsForRoom() {
            return
        } else {
            try await pause()
        }
        guard await hasGathered() else { return }
        let result = try await consumer.poll(
            recordsMax: min(configuration.batchRecordsMax, loop.stage.recordsMax),
            bytesMax: configuration.batchBytesMax,
            wait: configuration.pollWait
        )
        try await note(result.errors)
        if let isBalanced = result.isGroupBalanced {
            polling.withLock { $0.isGroupBalanced = isBalanced }
        }
        try await answer(result.events)
        let gathering = configuration.gatherTime(
            after: result.records.count,
            hasMore: result.isFull
        )
        polling.withLock { $0.gatheredAt = .now + gathering }
        add(result.records)
        skip(to: result.ends)
    }

    /// Waits until records have gathered, or until something else may be due.
    private func hasGathered() async -> Bool {
        let remaining = polling.withLock { $0.gatheredAt } - .now
        guard remaining > .zero, !mustStop else { return true }
        await turnSignal.wait(for: remaining)
        return polling.withLock { $0.gatheredAt } <= .now
    }

    /// Waits a little for room before the partitions are paused, which drops what was fetched.
    private func waitsForRoom() async -> Bool {
        let mayWait = polling.withLock { polling in
            guard !polling.isPaused, !mustStop else { return false }
            let now = ContinuousClock.now
            let since = polling.fullSince ?? now
            polling.fullSince = since
            return now - since < configuration.pauseAfter
        }
        if mayWait {
            await turnSignal.wait(for: .milliseconds(50))
        }
        return mayWait
    }

    private func add(_ records: [ConsumerRecord]) {
        guard !records.isEmpty else { return }
        noteAllowed()
        let taken = assignment.withLock { $0.add(records) }
        report(taken.batch.gaps)
        for partition in taken.rewound {
            log.error(
                "offsets went backwards, counts restart",
                [
                    "kafka.topic": .string(partition.topic),
                    "kafka.partition": .int(partition.partition),
                ]
            )
        }
        guard !taken.batch.isEmpty else { return }
        loop.metrics.batchRecords.observe(Double(taken.batch.records.count))
        batchesInFlight.add(1, ordering: .acquiringAndReleasing)
        loop.metrics.batchesInFlight.set(batchesInFlight.load(ordering: .acquiring))
        work.continuation.yield(.batch(taken.batch))
    }

    /// Settles what lies before the ends of partitions that are read to their end and holds no
    /// record, such as the control records of transactions.
    private func skip(to ends: [PartitionEnd]) {
        guard !ends.isEmpty else { return }
        let gaps = assignment.withLock { $0.skip(to: ends) }
        guard !gaps.isEmpty else { return }
        report(gaps)
        var increment = TallyIncrement()
        gaps.forEach { increment.addSkipped($0.count) }
        loop.metrics.settled(increment)
        commitSignal.send()
    }

    /// Reports a batch's gaps, those of one partition in one line.
    private func report(_ gaps: [OffsetGap]) {
        let byPartition = Dictionary(grouping: gaps) { $0.partition }
        for (partition, gaps) in byPartition {
            let first = gaps.reduce(Int64.max) { min($0, $1.first) }
            let count = gaps.reduce(Int64(0)) { $0 + $1.count }
            let metadata: LogMetadata = [
                "kafka.topic": .string(partition.topic),
                "kafka.partition": .int(partition.partition),
                "kafka.offset": .int(first),
                "skipped.count": .int(count),
            ]
            if first == 0 {
                log.error("records deleted before the first commit, counted as skipped", metadata)
            } else {
                log.warning("offset gap, counted as skipped", metadata)
            }
        }
    }

    /// A batch has left: settled, or given up.
    func leave() {
        let count = batchesInFlight.subtract(1, ordering: .acquiringAndReleasing).newValue
        loop.metrics.batchesInFlight.set(count)
        wakePolling()
    }
}
