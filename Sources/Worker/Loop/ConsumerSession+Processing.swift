import Kafka
import Synchronization

extension ConsumerSession {
    /// Puts batches through the stage, one after the other.
    func process(
        _ works: AsyncStream<StageWork>,
        into delivered: AsyncStream<DeliveredBatch>.Continuation
    ) async {
        for await work in works {
            applyReload()
            guard case .batch(let batch) = work else { continue }
            var rest: Batch? = batch
            while let part = rest {
                rest = await process(part, into: delivered)
            }
        }
        delivered.finish()
    }

    /// Puts a batch through the stage and sends what comes out; returns what the stage has left.
    private func process(
        _ batch: Batch,
        into delivered: AsyncStream<DeliveredBatch>.Continuation
    ) async -> Batch? {
        await waitForOutputRoom()
        guard let (processed, rest) = await processUntilDone(batch) else {
            leave()
            return nil
        }
        if rest != nil {
            batchesInFlight.add(1, ordering: .acquiringAndReleasing)
        }
        hold(processed)
        guard let released = throughBreaker(processed) else {
            leave()
            return rest
        }
        delivered.yield(await loop.time.measure(.process) { await send(released) })
        return rest
    }

    /// A small batch may bring out a large one: what is to be held is bounded by what comes out.
    private func waitForOutputRoom() async {
        while !mustAbort,
            outputBytesInFlight.load(ordering: .acquiring) >= configuration.outputBytesInFlightMax
        {
            await outputSignal.wait(for: .milliseconds(100))
        }
    }

    /// Gives the rest of a batch to the stage until it succeeds; nil if nothing is left or all is
    /// given up.
    ///
    /// - Returns: the processed records, and those left for the next call.
    private func processUntilDone(_ batch: Batch) async -> (ProcessedBatch, rest: Batch?)? {
        var backoff = configuration.backoff
        var rest = batch
        while !mustAbort {
            applyReload()
            assignment.withLock { assignment in rest.keep { assignment.end($0) } }
            guard !rest.isEmpty else { return nil }
            let abandoned = assignment.withLock { $0.removeAbandoned() }
            if !abandoned.isEmpty {
                await loop.stage.abandoned(abandoned)
            }
            do {
                let start = ContinuousClock.now
                let records = Array(rest.records.prefix(countTogether(rest.records)))
                let verdicts = try await loop.time.measureBatch {
                    try await loop.stage.process(records)
                }
                precondition(
                    (1...records.count).contains(verdicts.count),
                    "a stage has to give one verdict for each record, or for the first of them"
                )
                loop.metrics.stepSeconds["process"].observe(.now - start)
                loop.faults.succeeded(.process)
                loop.lastAnswer.withLock { $0 = .now }
                return processed(rest, verdicts)
            } catch {
                loop.faults.failed(.process, error)
                await loop.checkOutdated(by: error)
                await wait(&backoff)
            }
        }
        return nil
    }

    private func processed(_ batch: Batch, _ verdicts: [Verdict]) -> (ProcessedBatch, rest: Batch?)
    {
        var (first, rest) = (batch, Batch?.none)
        if verdicts.count < batch.records.count {
            (first, rest) = assignment.withLock { $0.split(batch, at: verdicts.count) }
        }
        return (ProcessedBatch(first, verdicts, loop.deadLetters(of: cluster)), rest)
    }

    /// Processes from here on with the stage that a reload has brought, and reads again what the
    /// breaker held.
    private func applyReload() {
        guard loop.applyReload() else { return }
        readHeldAgain()
        compareAcceptance()
        wakePolling()
    }

    /// Waits before a repetition; short while stopping, so that the end is noticed.
    func wait(_ backoff: inout Backoff) async {
        let end = ContinuousClock.now + backoff.nextDelay()
        loop.time.begin(.retry)
        defer { loop.time.end(.retry) }
        while ContinuousClock.now < end, !mustAbort {
            try? await Task.sleep(for: min(end - .now, .milliseconds(100)))
        }
    }
}

/// An event of the processing task.
enum StageWork: Sendable {
    case batch(Batch)
    /// The settings were reloaded; there may be no batch for a long time.
    case reload
}

/// The state of the polling task between its turns.
struct PollingState: Sendable {
    /// The committed offsets of newly assigned partitions.
    struct LoadedOffsets: Sendable {
        let claims: [PartitionClaim]
        let committed: [TopicPartition: CommittedOffset]
    }

    /// A revocation that waits for batches in flight.
    struct Revocation: Sendable {
        let partitions: [TopicPartition]
        let deadline: ContinuousClock.Instant
    }

    /// A partition that waits for a record of its own.
    struct Hold: Sendable {
        /// The record's.
        let offset: Int64
        /// When it is read again.
        let due: ContinuousClock.Instant
        let backoff: Backoff
        var isPaused = false
    }

    /// Whether the partitions are paused, because there has been no room for a while.
    var isPaused = false
    /// When records have gathered for the next poll.
    var gatheredAt = ContinuousClock.now
    /// Since when there has been no room.
    var fullSince: ContinuousClock.Instant?
    /// To be answered at the next turn.
    var loaded: [LoadedOffsets] = []
    var revocations: [Revocation] = []
    /// Partitions to be read again from these offsets.
    var rewinds: [TopicPartition: Int64] = [:]
    /// Partitions that wait for one of their records.
    var holds: [TopicPartition: Hold] = [:]
    /// Whether the group is balanced, as far as is known since the last rebalance.
    var isGroupBalanced = false
    /// Topics that have been reported as missing.
    var missingTopics: Set<String> = []
    /// The errors by which Kafka has refused this worker, each logged once.
    var refusals: [KafkaError] = []
}
