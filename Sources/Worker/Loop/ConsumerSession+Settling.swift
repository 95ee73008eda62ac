import AppStore
import Kafka
import Synchronization

extension ConsumerSession {
    /// Awaits batches' acknowledgements, one after the other, and settles them.
    func settle(_ delivered: AsyncStream<DeliveredBatch>) async {
        for await batch in delivered {
            let start = ContinuousClock.now
            if let judged = await deliver(batch) {
                loop.metrics.stepSeconds["deliver"].observe(.now - start)
                if let acknowledged = await acknowledge(judged) {
                    settle(acknowledged)
                }
            }
            outputBytesInHand.subtract(batch.outputBytes, ordering: .acquiringAndReleasing)
            outputBell.ring()
            leave(batch.judged.batch)
        }
    }

    /// Tells the stage that the outputs are safe; nil when that is given up.
    private func acknowledge(_ judged: JudgedBatch) async -> JudgedBatch? {
        var backoff = configuration.backoff
        while !mustAbort {
            let current = book.withLock { book in judged.filtered { book.isCurrent($0) } }
            guard !current.batch.isEmpty else { return nil }
            do {
                let start = ContinuousClock.now
                try await loop.stage.acknowledged(current.batch.records, current.verdicts)
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
    private func settle(_ judged: JudgedBatch) {
        let batch = judged.batch
        let increments = batch.increments(judged.verdicts, pins: judged.pins)
        let settled = book.withLock { book in
            zip(batch.parts, increments).filter { part, increment in
                guard !part.isWatched, book.isCurrent(part.claim) else { return false }
                book.settle(batch.id, part.claim, increment)
                return true
            }
        }
        for (_, increment) in settled {
            loop.metrics.settled(increment)
        }
        for verdict in judged.verdicts {
            guard let refusal = verdict.refusal else { continue }
            loop.metrics.deadLetters[refusal.reason.rawValue].increment()
        }
        commitBell.ring()
    }
}
