import AppStore
import Kafka
import Records
import Synchronization

extension ConsumerSession {
    /// Hands over the outputs of a batch: of each record all, or none where one is too large.
    func send(_ judged: JudgedBatch) async -> DeliveredBatch {
        var judged = judged
        for output in judged.refuseOversized(loop.limits) {
            sayRefused(output)
        }
        await tryLargest(&judged)
        let outputs = judged.outputs(outcomes)
        let outputBytes = outputs.reduce(0) { $0 + $1.record.batchBytesMax }
        outputBytesInHand.add(outputBytes, ordering: .acquiringAndReleasing)
        let delivery = await loop.deliverer.enqueue(outputs.map(\.record))
        return DeliveredBatch(
            judged: judged,
            outputs: outputs,
            delivery: delivery,
            outputBytes: outputBytes
        )
    }

    /// Where nobody told what a topic takes, sends the largest output of a record alone and before
    /// the others: where the broker refuses it, nothing of the record has gone on.
    private func tryLargest(_ judged: inout JudgedBatch) async {
        for (owner, index) in judged.untried(loop.limits) {
            let output = judged.verdicts[owner].outputs[index]
            // One before it in the batch may have shown meanwhile what the topic takes.
            guard loop.limits.isUntried(output) else { continue }
            switch await loop.deliverer.send(alone: output) {
            case nil:
                loop.limits.taken(output)
                loop.metrics.outputs.increment()
                judged.tried[owner] = index
            case .some(let error) where error.isRecordFault:
                sayRefused(output)
                judged.verdicts[owner] = .tooLarge(for: output.topic)
            case .some:
                // The infrastructure's fault: it is sent with the others, until it is taken.
                break
            }
        }
    }

    /// Sends until every output is acknowledged; nil when that is given up.
    func deliver(_ batch: DeliveredBatch) async -> JudgedBatch? {
        var batch = batch
        var backoff = configuration.backoff
        var outputs = batch.outputs
        var delivery = batch.delivery
        while true {
            let report = await delivery.report()
            guard !report.failures.isEmpty else { break }
            guard !mustAbort else { return nil }
            let rest = await failed(outputs, report.failures, &batch.judged)
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

    /// What is to be sent again or instead of the outputs that were not taken.
    private func failed(
        _ outputs: [JudgedBatch.Output],
        _ failures: [Int: KafkaError],
        _ judged: inout JudgedBatch
    ) async -> [JudgedBatch.Output] {
        var rest: [JudgedBatch.Output] = []
        var refused: [JudgedBatch.Output] = []
        for (index, error) in failures.sorted(by: { $0.key < $1.key }) {
            if error.isRecordFault {
                refused.append(outputs[index])
            } else {
                failed(outputs[index], error)
                rest.append(outputs[index])
            }
        }
        // The largest first: where it is refused, no other of its record is sent after it.
        refused.sort { $0.record.batchBytesMax > $1.record.batchBytesMax }
        for output in refused {
            rest += await deliverAlone(output, &judged)
        }
        return rest
    }

    private func failed(_ output: JudgedBatch.Output, _ error: KafkaError) {
        loop.faults.failed(.deliver, UndeliveredRecord(output.record, error))
    }

    /// Whose partition went elsewhere is not sent for any longer, nor what a dead letter replaces.
    private func stillWanted(
        _ outputs: [JudgedBatch.Output],
        of judged: JudgedBatch
    ) -> [JudgedBatch.Output] {
        let batch = judged.batch
        let isCurrent = book.withLock { book in batch.parts.map { book.isCurrent($0.claim) } }
        return outputs.filter { output in
            isCurrent[batch.partOfRecord[output.owner]] && !judged.isReplaced(output)
        }
    }

    /// Sends one output by itself, because a broker refuses whole batches for their size; returns
    /// what is to be sent instead.
    private func deliverAlone(
        _ output: JudgedBatch.Output,
        _ judged: inout JudgedBatch
    ) async -> [JudgedBatch.Output] {
        guard !judged.isReplaced(output) else { return [] }
        guard let error = await loop.deliverer.send(alone: output.record) else { return [] }
        guard error.isRecordFault else { return [output] }
        loop.limitsBell.ring()
        switch output.kind {
        case .letter(.omitted):
            // Nothing of the record is in it any more: the topic's limit is absurdly small.
            failed(output, error)
            return [output]
        case .letter(.original):
            guard let refusal = judged.verdicts[output.owner].refusal else { return [output] }
            sayTooLarge(
                "a dead letter is too large for its topic, its value is omitted",
                output.record
            )
            return [judged.letter(refusal, of: output.owner, .omitted)]
        case .outcome:
            sayTooLarge("an outcome is too large for its topic, nobody is answered", output.record)
            return []
        case .forward:
            // Told or tried, the limit was another: outputs that were taken before stay taken.
            sayRefused(output.record)
            let verdict = Verdict.tooLarge(for: output.record.topic)
            judged.verdicts[output.owner] = verdict
            let letter = verdict.refusal.map { judged.letter($0, of: output.owner, .original) }
            let answer = judged.outcome(of: output.owner, outcomes)
            return [letter, answer].compactMap { $0 }
        }
    }

    private func sayRefused(_ output: ProducerRecord) {
        sayTooLarge("an output is too large for its topic, the record is dead-lettered", output)
    }

    private func sayTooLarge(_ message: StaticString, _ record: ProducerRecord) {
        log.error(
            message,
            [
                "kafka.topic": .string(record.topic),
                "record.value_bytes": .int(record.value?.count ?? 0),
            ]
        )
    }
}

extension JudgedBatch {
    /// Whether a dead letter stands in the output's place.
    fileprivate func isReplaced(_ output: Output) -> Bool {
        guard case .forward = output.kind else { return false }
        return verdicts[output.owner].refusal != nil
    }
}

/// A judged batch whose outputs are on their way.
struct DeliveredBatch: Sendable {
    var judged: JudgedBatch
    var outputs: [JudgedBatch.Output]
    let delivery: Delivery
    /// What its outputs hold in memory.
    let outputBytes: Int
}
