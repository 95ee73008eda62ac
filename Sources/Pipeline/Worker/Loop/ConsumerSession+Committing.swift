import AppStore
import Kafka
import Platform
import Records
import Telemetry

/// The work of the settling task.
extension ConsumerSession {
    /// Awaits the acknowledgements of batches, one batch after the other, and settles the batches.
    func settle(_ delivered: AsyncStream<DeliveredBatch>) async {
        for await batch in delivered {
            let start = ContinuousClock.now
            if let processed = await loop.time.measure(.acknowledgement, { await deliver(batch) }) {
                loop.metrics.stepSeconds["deliver"].observe(.now - start)
                await acknowledge(processed)
            } else {
                loop.faults.dropped(.deliver)
            }
            core { $0.leave(outputBytes: batch.outputBytes) }
            outputSignal.send()
        }
    }

    /// Reports to the stage that the outputs are acknowledged, and settles the batch unless it was given up.
    private func acknowledge(_ processed: ProcessedBatch) async {
        var backoff = configuration.backoff
        var processed = processed
        while core({ $0.acknowledge(&processed) }) {
            do {
                let start = ContinuousClock.now
                try await loop.time.measureBatch {
                    try await loop.faults.attempt(.acknowledge) { try await loop.stage.acknowledged(processed.records) }
                }
                loop.metrics.stepSeconds["acknowledge"].observe(.now - start)
                settle(processed)
                return
            } catch {
                await loop.checkOutdated(by: error)
                await wait(&backoff)
            }
        }
        loop.faults.dropped(.acknowledge)
    }

    private func settle(_ processed: ProcessedBatch) {
        core { $0.settle(processed) }
        observeAges(processed)
        for index in processed.records.indices {
            guard let refusal = processed.records[index].verdict.refusal else { continue }
            loop.metrics.deadLettered(refusal.reason)
        }
    }

    /// Records the ages of the records and bodies that are settled now.
    private func observeAges(_ processed: ProcessedBatch) {
        let now = WallClock.milliseconds
        var records: [Double] = []
        var bodies: [Double] = []
        records.reserveCapacity(processed.records.count)
        for index in processed.records.indices {
            guard let written = processed.records[index].record.timestampMilliseconds else { continue }
            records.append(Double(WallClock.age(of: written, at: now)) / 1_000)
            guard processed.records[index].verdict.outputCount(to: configuration.nextTopic) == 0 else { continue }
            let begun = processed.records[index].verdict.bodyWrittenAt?.milliseconds ?? written
            bodies.append(Double(WallClock.age(of: begun, at: now)) / 1_000)
        }
        loop.metrics.waiting.settled(recordSeconds: records, bodySeconds: bodies)
    }
}

/// The work of the committing task.
extension ConsumerSession {
    /// Commits the settled offsets, one commit at a time, until cancelled.
    func commitRepeatedly() async {
        var backoff = commitBackoff
        while !Task.isCancelled {
            await commitSignal.wait(for: .seconds(1))
            guard !Task.isCancelled else { return }
            showLag()
            if await commitNow() {
                backoff.reset()
                guard !core({ $0.isGivingUp }) else { continue }
                try? await Task.sleep(for: configuration.commitInterval)
            } else {
                await wait(&backoff)
                commitSignal.send()
            }
        }
    }

    /// The delays are short, because revoked partitions wait for the commit.
    private var commitBackoff: Backoff {
        Backoff(delayMin: configuration.retryDelayMin, delayMax: min(configuration.retryDelayMax, .seconds(2)))
    }

    /// Makes the last commit, after the last record was settled.
    func commitLast() async {
        let end = ContinuousClock.now + configuration.closeDeadline
        var backoff = commitBackoff
        while await !commitNow(lastUntil: end), ContinuousClock.now < end { await wait(&backoff) }
    }

    /// Commits offset and tally of each partition with uncommitted offsets; true if nothing remains to commit.
    ///
    /// - Parameter end: the end of the time for the last commit; `nil` before the last commit.
    private func commitNow(lastUntil end: ContinuousClock.Instant? = nil) async -> Bool {
        let due = core { $0.assignment.commits() }
        guard !due.isEmpty else {
            // The partitions whose commit failed now belong to another worker.
            loop.faults.dropped(.commit)
            return true
        }
        let deadline = end.map { max($0 - .now, .milliseconds(100)) }
        let outcome = await loop.time.measure(.commit) {
            await consumer.commit(due.mapValues(\.1), deadline: deadline ?? configuration.callDeadline)
        }
        loop.faults.answered(.commit, by: outcome)
        return core { $0.committed(due, outcome, isLast: end != nil) }
    }

    /// Sets the gauges of the waiting records; callable from any task.
    func showLag() {
        let now = WallClock.milliseconds
        let instant = ContinuousClock.now
        let partitions = core { Array($0.assignment.partitions.keys) }
        let ends = partitions.reduce(into: [TopicPartition: Watermarks]()) { ends, partition in
            ends[partition] = consumer.cachedWatermarks(partition)
        }
        let waiting = core { $0.assignment.waiting(before: ends, at: now) }
        loop.metrics.waiting.show(waiting, now: now, instant: instant)
        loop.metrics.unaccounted.set(core { $0.assignment.unaccounted })
    }
}
