import Kafka
import Records
import Settings
import Telemetry

/// Events of the processing task and the settling task.
extension SessionCore {
    /// Whether there is room to process another batch: a small batch may have large outputs, so the limit counts the
    /// bytes of outputs.
    var hasOutputRoom: Bool { isAborted || outputBytesInFlight < configuration.outputBytesInFlightMax }

    /// Begins a call of the stage with the first records of a batch.
    ///
    /// The records of revoked partitions, and those after a held record, are removed from the batch. `nil` if no
    /// record remains or all batches are given up.
    ///
    /// - Returns: the records, and the partitions to report to the stage as abandoned before the call.
    mutating func attempt(_ batch: inout Batch) -> (records: [ConsumerRecord], abandoned: [TopicPartition])? {
        guard !isAborted else { return nil }
        batch.keep { assignment.end($0) }
        guard !batch.isEmpty else { return nil }
        let count = holds.countTogether(batch.records)
        let records = count < batch.records.count ? Array(batch.records.prefix(count)) : batch.records
        return (records, assignment.removeAbandoned())
    }

    /// Determines the outputs of a batch after the stage has decided.
    ///
    /// - Parameters:
    ///   - verdicts: the verdicts on the batch's first records.
    ///   - jitter: see `Backoff`.
    /// - Returns: the records to send, `nil` if all are held; and the records that the stage did not process.
    mutating func processed(
        _ batch: Batch, _ verdicts: [Verdict], deadLetters: any DeadLetterWriting, at now: Instant, jitter: Double
    ) -> (processed: ProcessedBatch?, rest: Batch?) {
        var (first, rest) = (batch, Batch?.none)
        if verdicts.count < batch.records.count {
            (first, rest) = assignment.split(batch, at: verdicts.count)
            batchesInFlight += 1
        }
        var processed = ProcessedBatch(first, verdicts, deadLetters: deadLetters)
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

    /// Keeps the records of a delivered batch whose partitions this worker still owns; false if no record remains or
    /// everything is given up.
    func acknowledge(_ processed: inout ProcessedBatch) -> Bool {
        processed.keep { assignment.isCurrent($0) }
        return !isAborted && !processed.records.isEmpty
    }

    /// Counts a batch whose outputs are acknowledged; the settled offsets without a gap can be committed.
    mutating func settle(_ processed: ProcessedBatch) {
        let increments = processed.increments(nextTopic: configuration.nextTopic)
        for (part, increment) in zip(processed.parts, increments) {
            guard !part.isWatched, assignment.isCurrent(part.claim) else { continue }
            assignment.settle(processed.id, part.claim, adding: increment)
            perform(.settled(increment))
        }
        perform(.commit)
    }
}

/// Events of the committing task.
extension SessionCore {
    /// Handles the broker's answer to a commit; true if the broker refused nothing.
    ///
    /// - Parameter isLast: whether no task polls any more, so that no event reports lost partitions.
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
            // The commit is repeated, or another worker repeats the work.
            perform(.committed("fenced"))
            log(.info, "commit rejected during a rebalance", ["error": "\(error)"])
        } else {
            perform(.committed("failed"))
            perform(.failed(.commit, error))
        }
        return false
    }

    /// Releases partitions whose offsets the group will never let this worker commit; the next owner repeats the work.
    ///
    /// Only revoked partitions are released, or all partitions at the end. Other partitions are reported as lost;
    /// librdkafka reports no loss while it waits for the answer to a revocation.
    private mutating func giveUpRefused(_ outcome: CommitOutcome, evenActive: Bool) {
        let refused = outcome.failures.filter(\.value.isFencedCommit).keys
        guard !refused.isEmpty else { return }
        let givenUp = refused.filter { evenActive || assignment.partitions[$0]?.phase == .revoking }
        assignment.release(givenUp)
        guard !givenUp.isEmpty else { return }
        report("commit fenced, partitions released", givenUp)
    }
}
