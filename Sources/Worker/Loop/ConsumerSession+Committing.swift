import AppStore
import Kafka
import Synchronization

extension ConsumerSession {
    /// Awaits batches' acknowledgements, one after the other, and settles them.
    func settle(_ delivered: AsyncStream<DeliveredBatch>) async {
        for await batch in delivered {
            let start = ContinuousClock.now
            if let processed = await loop.time.measure(.acknowledgement, { await deliver(batch) }) {
                loop.metrics.stepSeconds["deliver"].observe(.now - start)
                if let acknowledged = await acknowledge(processed) {
                    settle(acknowledged)
                }
            }
            outputBytesInFlight.subtract(batch.outputBytes, ordering: .acquiringAndReleasing)
            outputSignal.send()
            leave()
        }
    }

    /// Reports to the stage that the outputs are safe; nil when that is given up.
    private func acknowledge(_ processed: ProcessedBatch) async -> ProcessedBatch? {
        var backoff = configuration.backoff
        var current = processed
        while !mustAbort {
            assignment.withLock { assignment in current.keep { assignment.isCurrent($0) } }
            guard !current.records.isEmpty else { return nil }
            do {
                let start = ContinuousClock.now
                try await loop.time.measureBatch {
                    try await loop.stage.acknowledged(current.records)
                }
                loop.metrics.stepSeconds["acknowledge"].observe(.now - start)
                loop.faults.succeeded(.acknowledge)
                return current
            } catch {
                loop.faults.failed(.acknowledge, error)
                await loop.checkOutdated(by: error)
                await wait(&backoff)
            }
        }
        return nil
    }

    /// Counts a batch whose outputs are safe; what is settled without a hole can be committed.
    private func settle(_ processed: ProcessedBatch) {
        let increments = processed.increments(nextTopic: configuration.nextTopic)
        let settled = assignment.withLock { assignment in
            zip(processed.parts, increments).filter { part, increment in
                guard !part.isWatched, assignment.isCurrent(part.claim) else { return false }
                assignment.settle(processed.id, part.claim, increment)
                return true
            }
        }
        for (_, increment) in settled {
            loop.metrics.settled(increment)
        }
        observeAges(processed)
        for index in processed.records.indices {
            guard let refusal = processed.records[index].verdict.refusal else { continue }
            loop.metrics.deadLettered(refusal.reason)
            loop.refusals.count(refusal, of: processed.records[index].record)
        }
        commitSignal.send()
    }
}

extension ConsumerSession {
    /// Commits what is settled, one commit at a time, until cancelled.
    func commitRepeatedly() async {
        var backoff = commitBackoff
        while !Task.isCancelled {
            await commitSignal.wait(for: .seconds(1))
            guard !Task.isCancelled else { return }
            showLag()
            if await commitNow() {
                backoff.reset()
                guard polling.withLock({ $0.revocations.isEmpty }) else { continue }
                try? await Task.sleep(for: configuration.commitInterval)
            } else {
                await wait(&backoff)
                commitSignal.send()
            }
        }
    }

    /// Short: partitions that are being given up wait for it.
    private var commitBackoff: Backoff {
        Backoff(
            delayMin: configuration.retryDelayMin,
            delayMax: min(configuration.retryDelayMax, .seconds(2))
        )
    }

    /// The last commit, when nothing more is settled.
    func commitLast() async {
        let end = ContinuousClock.now + configuration.closeDeadline
        var backoff = commitBackoff
        while await !commitNow(lastUntil: end), ContinuousClock.now < end {
            await wait(&backoff)
        }
    }

    /// Commits offset and tally of each partition that has moved; true when nothing is left to do.
    ///
    /// - Parameter end: of the time for the last commit, when no task polls any more and no event
    ///   reports what is lost; nil before.
    private func commitNow(lastUntil end: ContinuousClock.Instant? = nil) async -> Bool {
        let due = assignment.withLock { $0.commits() }
        guard !due.isEmpty else {
            if loop.faults.isFailing(.commit) {
                // The partitions that could not be committed have been assigned to another worker.
                loop.faults.succeeded(.commit)
            }
            return true
        }
        let deadline = end.map { max($0 - .now, .milliseconds(100)) }
        let outcome = await loop.time.measure(.commit) {
            await consumer.commit(
                due.mapValues(\.1),
                deadline: deadline ?? configuration.callDeadline
            )
        }
        assignment.withLock { assignment in
            for (partition, (claim, commit)) in due where outcome.failures[partition] == nil {
                assignment.confirm(claim, commit)
            }
        }
        giveUpRefused(outcome, evenActive: end != nil)
        if polling.withLock({ !$0.revocations.isEmpty }) {
            wakePolling()
        }
        return note(outcome)
    }

    /// Releases what the group will never let this worker commit; the next owner of the partition
    /// does the work again.
    ///
    /// Only of partitions that are being given up, or at the end: any other is reported as lost,
    /// and librdkafka reports no loss while it waits for the answer to a revocation.
    private func giveUpRefused(_ outcome: CommitOutcome, evenActive: Bool) {
        let refused = outcome.failures.filter(\.value.isFencedCommit).keys
        guard !refused.isEmpty else { return }
        let givenUp = assignment.withLock { assignment in
            let partitions = evenActive ? Array(refused) : assignment.revoking(among: refused)
            assignment.release(partitions)
            return partitions
        }
        guard !givenUp.isEmpty else { return }
        report("commit fenced, partitions released", givenUp)
    }

    private func note(_ outcome: CommitOutcome) -> Bool {
        guard let error = outcome.failures.values.first else {
            loop.metrics.commits["ok"].increment()
            loop.faults.succeeded(.commit)
            return true
        }
        if outcome.failures.values.allSatisfy(\.isRoutineWhileRebalancing) {
            loop.metrics.commits["fenced"].increment()
            log.info("commit rejected during a rebalance", ["error": "\(error)"])
        } else {
            loop.metrics.commits["failed"].increment()
            loop.faults.failed(.commit, error)
        }
        return false
    }
}

extension KafkaError {
    /// Whether a rebalance caused the error: the commit is repeated, or its work is done again.
    fileprivate var isRoutineWhileRebalancing: Bool {
        isFencedCommit || code == .rebalanceInProgress
    }
}
