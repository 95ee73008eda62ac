import Kafka
import Records
import Synchronization
import Telemetry

/// The delivery of dead letters, by the settling task.
extension ConsumerSession {
    /// Writes the dead letters of a batch and awaits their acknowledgement; false if that is given up.
    ///
    /// The letters follow all other outputs of the batch, one batch after the other: only now is it known which
    /// records are refused, and each letter contains the previous letter's digest.
    func deliverLetters(_ processed: inout ProcessedBatch) async -> Bool {
        guard processed.records.contains(where: { $0.verdict.isRefused }) else { return true }
        guard await waitForLetterPartitions() else { return false }
        let isValid = core { $0.chainHeads(of: &processed) }
        var letters = processed.letters(of: isValid, loop.letterPartition)
        var backoff = configuration.backoff
        while !letters.isEmpty {
            guard !mustAbort else { return false }
            let rest = await deliver(letters, of: &processed)
            letters = rest.filter { isCurrent($0, of: processed) }
            if !letters.isEmpty { await wait(&backoff) } else if !rest.isEmpty { loop.faults.dropped(.deliver) }
        }
        return true
    }

    /// Sends letters; returns the letters from the first unacknowledged one on.
    ///
    /// The later letters are written again after it, so that the topic contains every chain in its order.
    private func deliver(_ letters: [Letter], of processed: inout ProcessedBatch) async -> [Letter] {
        let delivery = await loop.deliverer.enqueue(letters.map(\.record))
        let failures = await report(on: delivery).failures
        guard let first = failures.keys.min() else { return [] }
        let rest = Array(letters[first...])
        guard failures.values.contains(where: \.isRecordFault) else {
            failures[first].map { failed(rest[0].record, $0) }
            return rest
        }
        // A broker refuses whole batches for the size of one record.
        return await deliverAlone(rest, of: &processed)
    }

    private func deliverAlone(_ letters: [Letter], of processed: inout ProcessedBatch) async -> [Letter] {
        var rest = letters[...]
        while let letter = rest.first {
            guard let error = await send(alone: letter.record) else {
                rest = rest.dropFirst()
                continue
            }
            guard error.isRecordFault, letter.value == .original else {
                // A letter without any part of the record is refused for its size only if the topic's limit is
                // extremely small.
                failed(letter.record, error)
                return Array(rest)
            }
            loop.limitsSignal.send()
            reportTooLarge("dead letter too large for its topic, value omitted", letter.record)
            processed.omitValue(&rest, loop.letterPartition)
        }
        return []
    }

    private func isCurrent(_ letter: Letter, of processed: ProcessedBatch) -> Bool {
        core { $0.assignment.isCurrent(processed.claim(ofRecordAt: letter.owner)) }
    }

    /// Waits until the brokers have answered about the topic's partitions; false if the wait is given up.
    ///
    /// The wait has a deadline: a letter in a partition chosen by the partitioner is better than none.
    private func waitForLetterPartitions() async -> Bool {
        let end = ContinuousClock.now + configuration.callDeadline
        while loop.letterPartitions.withLock({ $0 == nil }), ContinuousClock.now < end {
            guard !mustAbort else { return false }
            loop.limitsSignal.send()
            try? await Task.sleep(for: .milliseconds(20))
        }
        return !mustAbort
    }
}

extension WorkerLoop {
    /// Returns the partition for the letters of a source partition.
    ///
    /// All of them go to one partition, so that retention can only remove the beginning of their chain.
    func letterPartition(ofSource partition: Int32) -> Int32? {
        let count = letterPartitions.withLock { $0 ?? 0 }
        return count > 0 ? partition % Int32(clamping: count) : nil
    }

    /// Stores the partition count of the dead-letter topic.
    func read(_ metadata: ClusterMetadata) {
        let topic = metadata[topic: configuration.deadLetterTopic]
        let count = topic.map { $0.error == nil ? $0.partitionCount : 0 } ?? 0
        letterPartitions.withLock { $0 = max(count, 0) }
    }
}
