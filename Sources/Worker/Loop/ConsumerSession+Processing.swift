import Kafka
import Synchronization

extension ConsumerSession {
    /// Puts batches through the stage, one after the other.
    func process(
        _ works: AsyncStream<JudgingWork>,
        into delivered: AsyncStream<DeliveredBatch>.Continuation
    ) async {
        for await work in works {
            takeUpReload()
            guard case .batch(let batch) = work else { continue }
            guard let judged = await judge(batch) else {
                leave(batch)
                continue
            }
            guard let released = throughBreaker(judged) else {
                leave(batch)
                continue
            }
            delivered.yield(await send(released))
        }
        delivered.finish()
    }

    /// Has the stage judge what is left of a batch, again and again until it can; nil when nothing
    /// is left or all is given up.
    private func judge(_ batch: Batch) async -> JudgedBatch? {
        var backoff = configuration.backoff
        var rest = batch
        while !mustAbort {
            takeUpReload()
            rest = current(rest)
            guard !rest.isEmpty else { return nil }
            let abandoned = book.withLock { $0.takeAbandoned() }
            if !abandoned.isEmpty {
                await loop.stage.abandoned(abandoned)
            }
            do {
                let start = ContinuousClock.now
                let verdicts = try await loop.stage.process(rest.records)
                precondition(
                    verdicts.count == rest.records.count,
                    "a stage has to give one verdict for each record"
                )
                loop.metrics.stepSeconds["process"].observe(.now - start)
                loop.faults.succeeded(.process)
                loop.lastAnswer.withLock { $0 = .now }
                return JudgedBatch(
                    batch: rest,
                    verdicts: verdicts,
                    deadLetters: loop.deadLetters(of: cluster)
                )
            } catch {
                loop.faults.failed(.process, error)
                await wait(&backoff)
            }
        }
        return nil
    }

    /// Judges from here on by what a reload has brought, and reads again what the breaker held.
    private func takeUpReload() {
        guard loop.takeUpReload() else { return }
        readHeldAgain()
        compareAcceptance()
        ringTurn()
    }

    /// The batch without what went elsewhere, and without what a pin came before.
    private func current(_ batch: Batch) -> Batch {
        let isCurrent = book.withLock { book in batch.parts.map { book.isCurrent($0.claim) } }
        guard isCurrent.contains(false) else { return batch }
        let kept = Set(zip(batch.parts, isCurrent).filter(\.1).map(\.0.claim))
        return batch.filtered { _, part in kept.contains(part.claim) }
    }

    /// Waits before a repetition; short while stopping, so that the end is noticed.
    func wait(_ backoff: inout Backoff) async {
        let end = ContinuousClock.now + backoff.nextDelay()
        while ContinuousClock.now < end, !mustAbort {
            try? await Task.sleep(for: min(end - .now, .milliseconds(100)))
        }
    }
}
