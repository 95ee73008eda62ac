import AppStore
import DeadLetters
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
            leave(batch.judged.batch)
        }
    }

    /// Sends until every output is acknowledged; nil when that is given up.
    private func deliver(_ batch: DeliveredBatch) async -> JudgedBatch? {
        var batch = batch
        var backoff = configuration.backoff
        var outputs = batch.outputs
        var delivery = batch.delivery
        while true {
            let report = await delivery.report()
            guard !report.failures.isEmpty else { break }
            guard !mustAbort else { return nil }
            var rest: [JudgedBatch.Output] = []
            for (index, error) in report.failures.sorted(by: { $0.key < $1.key }) {
                if error.isRecordFault {
                    rest += await deliverAlone(outputs[index], &batch.judged)
                } else {
                    failed(outputs[index], error)
                    rest.append(outputs[index])
                }
            }
            outputs = stillWanted(rest, of: batch.judged)
            guard !outputs.isEmpty else { break }
            if loop.faults.isFailing(.deliver) {
                await wait(&backoff)
            }
            delivery = await loop.deliverer.enqueue(outputs.map(\.record))
        }
        if !batch.outputs.isEmpty {
            loop.faults.succeeded(.deliver)
            loop.metrics.outputs.increment(by: batch.outputs.count)
        }
        return batch.judged
    }

    private func failed(_ output: JudgedBatch.Output, _ error: KafkaError) {
        loop.faults.failed(.deliver, UndeliveredRecord(output.record, error))
    }

    /// Whose partition went elsewhere is not sent for any longer.
    private func stillWanted(
        _ outputs: [JudgedBatch.Output],
        of judged: JudgedBatch
    ) -> [JudgedBatch.Output] {
        let batch = judged.batch
        let isCurrent = book.withLock { book in batch.parts.map { book.isCurrent($0.claim) } }
        return outputs.filter { isCurrent[batch.partOfRecord[$0.owner]] }
    }

    /// Sends one output by itself, because a broker refuses whole batches for their size; returns
    /// what is to be sent instead.
    private func deliverAlone(
        _ output: JudgedBatch.Output,
        _ judged: inout JudgedBatch
    ) async -> [JudgedBatch.Output] {
        guard let error = await loop.deliverer.send(alone: output.record) else { return [] }
        guard error.isRecordFault else { return [output] }
        let verdict = judged.verdicts[output.owner]
        switch output.kind {
        case .letter(.omitted):
            // Nothing of the record is in it any more: the topic's limit is absurdly small.
            failed(output, error)
            return [output]
        case .letter(.original):
            guard let facts = verdict.deadLetter else { return [output] }
            sayTooLarge("a dead letter is too large for its topic, its value is omitted", output)
            return [judged.letter(facts, of: output.owner, .omitted)]
        case .outcome:
            sayTooLarge("an outcome is too large for its topic, nobody is answered", output)
            return []
        case .forward:
            sayTooLarge("an output is too large for its topic, the record is dead-lettered", output)
            guard verdict.deadLetter == nil else { return [] }
            let facts = DeadLetterFacts(
                reason: .payloadTooLarge,
                detail: "the topic \(output.record.topic) takes no record of this size"
            )
            judged.verdicts[output.owner] = .deadLettered(facts)
            let answer = judged.outcome(of: output.owner, outcomes)
            return [judged.letter(facts, of: output.owner, .original)] + [answer].compactMap { $0 }
        }
    }

    private func sayTooLarge(_ message: StaticString, _ output: JudgedBatch.Output) {
        log.error(
            message,
            [
                "kafka.topic": .string(output.record.topic),
                "record.value_bytes": .int(output.record.value?.count ?? 0),
            ]
        )
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
            guard let facts = verdict.deadLetter else { continue }
            loop.metrics.deadLetters[facts.reason.rawValue].increment()
        }
        commitBell.ring()
    }
}
