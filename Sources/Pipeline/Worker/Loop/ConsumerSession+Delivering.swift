import AppStore
import Kafka
import Records
import Telemetry

extension ConsumerSession {
    /// Sends the outputs of a batch: all outputs of a record, or none if one of them is too large.
    func send(_ processed: ProcessedBatch) async -> DeliveredBatch {
        var processed = processed
        await refuseOversized(&processed)
        await tryLargest(&processed)
        let outputs = processed.outputs(outcomes)
        let outputBytes = outputs.reduce(0) { $0 + $1.record.batchBytesMax }
        core { $0.sent(outputBytes: outputBytes) }
        let delivery = await loop.deliverer.enqueue(outputs.map(\.record))
        return DeliveredBatch(processed: processed, outputs: outputs, delivery: delivery, outputBytes: outputBytes)
    }

    /// Refuses records that exceed their topic's current limit.
    private func refuseOversized(_ processed: inout ProcessedBatch) async {
        let version = loop.limits.version
        var refused = processed
        var outputs = refused.refuseOversized(loop.limits)
        if !outputs.isEmpty {
            await loop.limits.askAgain()
            if loop.limits.version != version {
                refused = processed
                outputs = refused.refuseOversized(loop.limits)
            }
        }
        processed = refused
        outputs.forEach(reportRefused)
    }

    /// Sends the largest output of a record alone, before the record's other outputs, if the topic's limit is unknown.
    ///
    /// If the broker refuses this output, nothing of the record was forwarded.
    private func tryLargest(_ processed: inout ProcessedBatch) async {
        for (owner, index) in processed.untried(loop.limits) {
            let output = processed.records[owner].verdict.outputs[index]
            // An earlier record of the batch may have shown what the topic accepts.
            guard loop.limits.isUntried(output) else { continue }
            switch await send(alone: output) {
            case nil:
                loop.limits.taken(output)
                processed.records[owner].tried = index
            case .some(let error) where error.isRecordFault:
                reportRefused(output)
                processed.records[owner].verdict = .tooLarge(for: output.topic)
            case .some:
                // The infrastructure is at fault: the output is sent with the others, until it is acknowledged.
                break
            }
        }
    }

    /// Sends until every output and every dead letter is acknowledged.
    ///
    /// `nil` if the batch is given up.
    func deliver(_ batch: DeliveredBatch) async -> ProcessedBatch? {
        guard var processed = await deliverOutputs(of: batch), await deliverLetters(&processed) else { return nil }
        return processed
    }

    private func deliverOutputs(of batch: DeliveredBatch) async -> ProcessedBatch? {
        var batch = batch
        var backoff = configuration.backoff
        var outputs = batch.outputs
        var delivery = batch.delivery
        while true {
            let report = await report(on: delivery)
            guard !report.failures.isEmpty else { break }
            guard !mustAbort else { return nil }
            let rest = await failed(outputs, report.failures, in: &batch.processed)
            outputs = stillWanted(rest, of: batch.processed)
            guard !outputs.isEmpty else {
                loop.faults.dropped(.deliver)
                break
            }
            if loop.faults.isFailing(.deliver) { await wait(&backoff) }
            delivery = await loop.deliverer.enqueue(outputs.map(\.record))
        }
        return batch.processed
    }

    /// Waits until every record of a delivery is acknowledged or has failed.
    func report(on delivery: Delivery) async -> DeliveryReport {
        let report = await delivery.report()
        loop.metrics.outputs.increment(by: report.offsets.count - report.failures.count)
        loop.faults.answered(.deliver, by: report)
        return report
    }

    /// Writes a single record, so that a refusal concerns no other record.
    func send(alone record: ProducerRecord) async -> KafkaError? {
        await report(on: loop.deliverer.enqueue([record])).failures[0]
    }

    /// Returns the records to send again, or instead of the outputs that were not acknowledged.
    private func failed(
        _ outputs: [ProcessedBatch.Output], _ failures: [Int: KafkaError], in processed: inout ProcessedBatch
    ) async -> [ProcessedBatch.Output] {
        var rest: [ProcessedBatch.Output] = []
        var refused: [ProcessedBatch.Output] = []
        for (index, error) in failures.sorted(by: { $0.key < $1.key }) {
            if error.isRecordFault {
                refused.append(outputs[index])
            } else {
                failed(outputs[index].record, error)
                rest.append(outputs[index])
            }
        }
        // The largest output is sent first: if it is refused, no other output of its record is sent.
        refused.sort { $0.record.batchBytesMax > $1.record.batchBytesMax }
        for output in refused { rest += await deliverAlone(output, &processed) }
        return rest
    }

    func failed(_ record: ProducerRecord, _ error: KafkaError) {
        loop.faults.failed(.deliver, UndeliveredRecord(record, error))
    }

    /// Drops outputs of partitions that were revoked, and outputs that a dead letter replaces.
    private func stillWanted(_ outputs: [ProcessedBatch.Output], of processed: ProcessedBatch) -> [ProcessedBatch
        .Output]
    {
        let isCurrent = core { core in processed.parts.map { core.assignment.isCurrent($0.claim) } }
        return outputs.filter { output in
            isCurrent[processed.records[output.owner].part] && !processed.isReplaced(output)
        }
    }

    /// Sends one output alone, because a broker refuses whole batches for their size.
    ///
    /// Returns the records to send instead.
    private func deliverAlone(_ output: ProcessedBatch.Output, _ processed: inout ProcessedBatch) async
        -> [ProcessedBatch.Output]
    {
        guard !processed.isReplaced(output) else { return [] }
        guard let error = await send(alone: output.record) else { return [] }
        guard error.isRecordFault else { return [output] }
        loop.limitsSignal.send()
        guard !output.isOutcome else {
            reportTooLarge("outcome too large for its topic, dropped", output.record)
            return []
        }
        // The limit has changed since it was read or tested: outputs that were acknowledged before stay written.
        reportRefused(output.record)
        processed.records[output.owner].verdict = .tooLarge(for: output.record.topic)
        return processed.outcome(of: output.owner, outcomes).map { [$0] } ?? []
    }

    private func reportRefused(_ output: ProducerRecord) {
        reportTooLarge("output too large for its topic, record dead-lettered", output)
    }

    func reportTooLarge(_ message: StaticString, _ record: ProducerRecord) {
        log.error(
            message, ["kafka.topic": .string(record.topic), "record.value_bytes": .int(record.value?.count ?? 0)])
    }
}

extension ProcessedBatch {
    /// Whether a dead letter replaces the output.
    fileprivate func isReplaced(_ output: Output) -> Bool {
        !output.isOutcome && records[output.owner].verdict.isRefused
    }
}

/// A processed batch whose outputs are being delivered.
struct DeliveredBatch: Sendable {
    var processed: ProcessedBatch
    var outputs: [ProcessedBatch.Output]
    let delivery: Delivery
    /// Bytes of the batch's outputs in memory.
    let outputBytes: Int
}
