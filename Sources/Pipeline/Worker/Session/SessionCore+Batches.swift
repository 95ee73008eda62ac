import Kafka
import Records
import Settings
import Telemetry

/// The processing task and the settling task.
extension SessionCore {
    /// Whether more may be processed: a small batch may bring out a large one, so what is held is
    /// bounded by what comes out.
    var hasOutputRoom: Bool { isAborted || outputBytesInFlight < configuration.outputBytesInFlightMax }

    /// Begins a call of the stage with the first records of a batch, without those of partitions
    /// that are no longer this worker's, and without those behind a record that is held; nil if
    /// nothing is left or all is given up.
    ///
    /// - Returns: the records, and the partitions to report to the stage as abandoned before.
    mutating func attempt(_ batch: inout Batch) -> (records: [ConsumerRecord], abandoned: [TopicPartition])? {
        guard !isAborted else { return nil }
        batch.keep { assignment.end($0) }
        guard !batch.isEmpty else { return nil }
        let count = holds.countTogether(batch.records)
        let records = count < batch.records.count ? Array(batch.records.prefix(count)) : batch.records
        return (records, assignment.removeAbandoned())
    }

    /// Decides what goes out of a batch on which the stage has decided.
    ///
    /// - Parameters:
    ///   - verdicts: those of its first records.
    ///   - jitter: see `Backoff`.
    /// - Returns: the records to send, nil if all are held; and those that the stage has left.
    mutating func processed(
        _ batch: Batch, _ verdicts: [Verdict], _ deadLetters: any DeadLetterWriting, at now: Instant, jitter: Double
    ) -> (processed: ProcessedBatch?, rest: Batch?) {
        var (first, rest) = (batch, Batch?.none)
        if verdicts.count < batch.records.count {
            (first, rest) = assignment.split(batch, at: verdicts.count)
            batchesInFlight += 1
        }
        var processed = ProcessedBatch(first, verdicts, deadLetters)
        hold(processed, now, jitter: jitter)
        passBreaker(&processed, now)
        guard !processed.records.isEmpty else {
            leave()
            return (nil, rest)
        }
        return (processed, rest)
    }

    mutating func sent(outputBytes: Int) { outputBytesInFlight += outputBytes }

    /// Sets the head of each part's chain of dead letters; returns which parts are still valid.
    func chainHeads(of processed: inout ProcessedBatch) -> [Bool] {
        processed.parts.indices.map { part in
            let claim = processed.parts[part].claim
            processed.parts[part].chainHead = assignment.chainHead(claim)
            return assignment.isCurrent(claim)
        }
    }

    /// Keeps the records of a delivered batch that are still this worker's; false if nothing is
    /// left or all is given up.
    func acknowledge(_ processed: inout ProcessedBatch) -> Bool {
        processed.keep { assignment.isCurrent($0) }
        return !isAborted && !processed.records.isEmpty
    }

    /// Counts a batch whose outputs are safe; what is settled without a hole can be committed.
    mutating func settle(_ processed: ProcessedBatch) {
        let increments = processed.increments(nextTopic: configuration.nextTopic)
        for (part, increment) in zip(processed.parts, increments) {
            guard !part.isWatched, assignment.isCurrent(part.claim) else { continue }
            assignment.settle(processed.id, part.claim, increment)
            perform(.settled(increment))
        }
        perform(.commit)
    }
}

/// The committing task.
extension SessionCore {
    /// The broker has answered a commit; true when it has refused nothing.
    ///
    /// - Parameter isLast: no task polls any more, so that no event reports what is lost.
    mutating func committed(
        _ commits: [TopicPartition: (PartitionClaim, OffsetCommit)], _ outcome: CommitOutcome, isLast: Bool
    ) -> Bool {
        for (partition, (claim, commit)) in commits where outcome.failures[partition] == nil {
            assignment.confirm(claim, commit)
        }
        giveUpRefused(outcome, evenActive: isLast)
        if isGivingUp { perform(.turn) }
        guard let error = outcome.failures.values.first else {
            perform(.committed("ok"))
            return true
        }
        let isRoutine = outcome.failures.values.allSatisfy { $0.isFencedCommit || $0.code == .rebalanceInProgress }
        if isRoutine {
            // It is repeated, or its work is done again.
            perform(.committed("fenced"))
            log(.info, "commit rejected during a rebalance", ["error": "\(error)"])
        } else {
            perform(.committed("failed"))
            perform(.failed(.commit, error))
        }
        return false
    }

    /// Releases what the group will never let this worker commit; the next owner of the partition
    /// does the work again.
    ///
    /// Only of partitions that are being given up, or at the end: any other is reported as lost,
    /// and librdkafka reports no loss while it waits for the answer to a revocation.
    private mutating func giveUpRefused(_ outcome: CommitOutcome, evenActive: Bool) {
        let refused = outcome.failures.filter(\.value.isFencedCommit).keys
        guard !refused.isEmpty else { return }
        let givenUp = refused.filter { evenActive || assignment.partitions[$0]?.phase == .revoking }
        assignment.release(givenUp)
        guard !givenUp.isEmpty else { return }
        report("commit fenced, partitions released", givenUp)
    }
}
