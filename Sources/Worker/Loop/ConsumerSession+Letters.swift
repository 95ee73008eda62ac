import AppStore
import Kafka
import OpenSSL
import Records
import Synchronization

extension ConsumerSession {
    /// One dead letter of a batch, and where its chain stood before it.
    private struct Letter {
        var record: ProducerRecord
        /// An index into the batch's records.
        let owner: Int
        let refusal: Refusal
        var previous: SHA256Digest?
        var value = DeadLetterValue.original
    }

    /// Writes the dead letters of a batch and awaits their acknowledgement; false when that is
    /// given up.
    ///
    /// After all else of the batch, and one batch after the other: only now is it known which of
    /// its records are refused, and each letter names the one before it.
    func deliverLetters(_ processed: inout ProcessedBatch) async -> Bool {
        guard processed.records.contains(where: { $0.verdict.isRefused }) else { return true }
        guard await waitForLetterPartitions() else { return false }
        var letters = chained(&processed)
        var backoff = configuration.backoff
        while !letters.isEmpty {
            guard !mustAbort else { return false }
            let rest = await deliver(letters, of: &processed)
            loop.metrics.outputs.increment(by: letters.count - rest.count)
            letters = rest.filter { isCurrent($0, of: processed) }
            if !letters.isEmpty {
                await wait(&backoff)
            }
        }
        loop.faults.succeeded(.deliver)
        return true
    }

    /// The letters of the records that still are this worker's, each behind the one before it; the
    /// batch gets the new head of each chain.
    private func chained(_ processed: inout ProcessedBatch) -> [Letter] {
        let isCurrent = assignment.withLock { assignment in
            processed.parts.indices.map { part in
                let claim = processed.parts[part].claim
                processed.parts[part].chainHead = assignment.chainHead(claim)
                return assignment.isCurrent(claim)
            }
        }
        var letters: [Letter] = []
        for owner in processed.records.indices {
            let part = processed.records[owner].part
            guard let refusal = processed.records[owner].verdict.refusal, isCurrent[part] else {
                continue
            }
            let previous = processed.parts[part].chainHead
            let chained = letter(refusal, of: owner, in: processed, .original, after: previous)
            processed.parts[part].chainHead = chained.digest
            letters.append(
                Letter(
                    record: chained.record,
                    owner: owner,
                    refusal: refusal,
                    previous: previous
                )
            )
        }
        return letters
    }

    private func letter(
        _ refusal: Refusal,
        of owner: Int,
        in processed: ProcessedBatch,
        _ value: DeadLetterValue,
        after previous: SHA256Digest?
    ) -> ChainedLetter {
        let source = processed.records[owner].record
        var letter = processed.deadLetters.letter(
            for: source,
            refusal,
            value: value,
            after: previous
        )
        letter.record.partition = loop.letterPartition(
            ofSource: source.topicPartition.partition
        )
        return letter
    }

    /// Sends letters; returns those from the first on that was not acknowledged: what follows it
    /// is written again behind it, so that every chain is in the topic in its order.
    private func deliver(
        _ letters: [Letter],
        of processed: inout ProcessedBatch
    ) async -> [Letter] {
        let delivery = await loop.deliverer.enqueue(letters.map(\.record))
        let failures = await delivery.report().failures
        guard let first = failures.keys.min() else { return [] }
        let rest = Array(letters[first...])
        guard failures.values.contains(where: \.isRecordFault) else {
            failures[first].map { failed(rest[0].record, $0) }
            return rest
        }
        // A broker refuses whole batches for the size of one record.
        return await deliverAlone(rest, of: &processed)
    }

    private func deliverAlone(
        _ letters: [Letter],
        of processed: inout ProcessedBatch
    ) async -> [Letter] {
        var rest = letters[...]
        while let letter = rest.first {
            guard let error = await loop.deliverer.send(alone: letter.record) else {
                rest = rest.dropFirst()
                continue
            }
            guard error.isRecordFault, letter.value == .original else {
                // Where nothing of the record is in it any more, the topic's limit is absurdly
                // small.
                failed(letter.record, error)
                return Array(rest)
            }
            loop.limitsSignal.send()
            reportTooLarge("dead letter too large for its topic, value omitted", letter.record)
            rest[rest.startIndex].value = .omitted
            chainAgain(&rest, of: &processed)
        }
        return []
    }

    /// Makes the first letter again, and those behind it in its chain: its digest covers that its
    /// value is omitted, and each letter names the digest before it.
    private func chainAgain(
        _ letters: inout ArraySlice<Letter>,
        of processed: inout ProcessedBatch
    ) {
        guard let first = letters.first else { return }
        let part = processed.records[first.owner].part
        var previous = first.previous
        for index in letters.indices where processed.records[letters[index].owner].part == part {
            let chained = letter(
                letters[index].refusal,
                of: letters[index].owner,
                in: processed,
                letters[index].value,
                after: previous
            )
            letters[index].record = chained.record
            letters[index].previous = previous
            previous = chained.digest
        }
        processed.parts[part].chainHead = previous
    }

    private func failed(_ record: ProducerRecord, _ error: KafkaError) {
        loop.faults.failed(.deliver, UndeliveredRecord(record, error))
    }

    private func isCurrent(_ letter: Letter, of processed: ProcessedBatch) -> Bool {
        assignment.withLock { $0.isCurrent(processed.claim(ofRecordAt: letter.owner)) }
    }

    /// Waits until the brokers have answered about the topic's partitions; false when given up.
    ///
    /// Within a deadline: a letter in the partitioner's choice of partition is better than none.
    private func waitForLetterPartitions() async -> Bool {
        let end = ContinuousClock.now + configuration.callDeadline
        while loop.letterPartitions.load(ordering: .acquiring) == LetterPartitions.unknown,
            ContinuousClock.now < end
        {
            guard !mustAbort else { return false }
            loop.limitsSignal.send()
            try? await Task.sleep(for: .milliseconds(20))
        }
        return !mustAbort
    }
}

/// How many partitions the dead-letter topic has, as far as the brokers have answered.
enum LetterPartitions {
    /// They have not answered yet.
    static let unknown = -1
    /// They know no such topic: the producer's partitioner decides, once there is one.
    static let none = 0
}

extension WorkerLoop {
    /// Where the letters of one source partition go: all to one partition, so that retention can
    /// only shorten their chain at its beginning.
    func letterPartition(ofSource partition: Int32) -> Int32? {
        let count = letterPartitions.load(ordering: .acquiring)
        return count > 0 ? partition % Int32(clamping: count) : nil
    }

    /// Keeps what the brokers say of the dead-letter topic.
    func read(_ metadata: ClusterMetadata) {
        let topic = metadata[topic: configuration.deadLetterTopic]
        let count = topic.map { $0.error == nil ? $0.partitionCount : 0 } ?? 0
        letterPartitions.store(max(count, LetterPartitions.none), ordering: .releasing)
    }
}
