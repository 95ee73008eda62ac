import Kafka
import Synchronization
import Telemetry

/// The work of the processing task.
extension ConsumerSession {
    /// Passes batches to the stage, one after the other.
    func process(_ batches: AsyncStream<Batch?>, into delivered: AsyncStream<DeliveredBatch>.Continuation) async {
        for await batch in batches {
            applyReload()
            var rest = batch
            while let part = rest { rest = await process(part, into: delivered) }
        }
        delivered.finish()
    }

    /// Passes a batch to the stage and sends the outputs; returns the records that the stage did not process.
    private func process(_ batch: Batch, into delivered: AsyncStream<DeliveredBatch>.Continuation) async -> Batch? {
        while !core({ $0.hasOutputRoom }) { await outputSignal.wait(for: .milliseconds(100)) }
        guard let (batch, verdicts) = await processUntilDone(batch) else {
            core { $0.leave() }
            return nil
        }
        let letters = loop.deadLetters(of: cluster)
        let jitter = Double.random(in: Backoff.jitterRange)
        let (processed, rest) = core { $0.processed(batch, verdicts, deadLetters: letters, at: .now, jitter: jitter) }
        if let processed { delivered.yield(await loop.time.measure(.process) { await send(processed) }) }
        return rest
    }

    /// Passes the rest of a batch to the stage until the call succeeds.
    ///
    /// `nil` if no record remains or all batches are given up.
    private func processUntilDone(_ batch: Batch) async -> (Batch, [Verdict])? {
        var backoff = configuration.backoff
        var rest = batch
        applyReload()
        while let attempt = core({ $0.attempt(&rest) }) {
            if !attempt.abandoned.isEmpty { await loop.stage.abandoned(attempt.abandoned) }
            do {
                let start = ContinuousClock.now
                let verdicts = try await loop.time.measureBatch {
                    try await loop.faults.attempt(.process) { try await loop.stage.process(attempt.records) }
                }
                precondition(
                    (1...attempt.records.count).contains(verdicts.count),
                    "a stage has to give one verdict for each record, or for the first of them")
                loop.metrics.stepSeconds["process"].observe(.now - start)
                loop.lastAnswer.withLock { $0 = .now }
                return (rest, verdicts)
            } catch {
                await loop.checkOutdated(by: error)
                await wait(&backoff)
                applyReload()
            }
        }
        loop.faults.dropped(.process)
        return nil
    }

    /// Switches to the stage of a reload.
    private func applyReload() {
        guard let next = loop.applyReload() else { return }
        core { $0.reloaded(next.breaker) }
    }

    /// Waits before a retry; the wait is short while stopping.
    func wait(_ backoff: inout Backoff) async { await loop.time.measure(.retry) { await backoff.wait { mustAbort } } }
}
