import Kafka
import Records
import Settings
import Telemetry

extension SessionCore {
    mutating func answer(_ event: RebalanceEvent, _ now: Instant) {
        switch event {
        case .assigned(let partitions):
            report("partitions assigned", partitions)
            perform(.load(assignment.assign(partitions)))
        case .revoking(let partitions):
            report("partitions revoked, finishing batches in flight", partitions)
            assignment.revoke(partitions)
            revocations.append(Revocation(partitions: partitions, deadline: now + configuration.revocationBudget))
            perform(.commit)
        case .lost(let partitions):
            report("partitions lost, discarding batches in flight", partitions)
            assignment.release(partitions)
            perform(.setPartitions(assignment.partitions.count))
        }
    }

    /// Starts reading at the last owner's commit, with its tally.
    ///
    /// The group gets an answer even if the partitions have been lost, because librdkafka waits for it.
    mutating func begin(_ claims: [PartitionClaim], _ committed: [TopicPartition: CommittedOffset]) {
        var positions: [TopicPartition: Int64?] = [:]
        for claim in claims {
            let committed = committed[claim.partition] ?? CommittedOffset(offset: nil, metadata: "")
            positions[claim.partition] = .some(committed.offset)
            if let start = assignment.begin(claim, committed) { report(start, claim.partition) }
        }
        compareAcceptance()
        perform(.assign(positions))
        if pacing.isPaused { perform(.pause(claims.map(\.partition))) }
        group.refusals = []
        perform(.setPartitions(assignment.partitions.count))
        perform(.turn)
    }

    private mutating func report(_ start: TallyStart, _ partition: TopicPartition) {
        var metadata = LogMetadata(partition)
        switch start {
        case .first, .resumed: break
        case .begunAnew(let offset, let text):
            metadata.append("kafka.offset", .int(offset))
            metadata.append("commit.has_metadata", .bool(!text.isEmpty))
            // There is no record before the first offset.
            guard offset > 0 else { return }
            log(.error, "commit metadata missing or unreadable, counts restart", metadata)
        case .inconsistent(let tally, let offset):
            metadata.append("kafka.offset", .int(offset))
            metadata.append("tally.began", .int(tally.began))
            metadata.append("tally.total", .int(tally.total))
            log(.error, "commit metadata inconsistent, counts do not add up to the offset", metadata)
        }
    }

    var isGivingUp: Bool { !revocations.isEmpty }

    /// Releases revoked partitions when they have nothing in flight, or when their time has passed.
    mutating func completeRevocations(_ now: Instant) {
        let waiting = revocations
        revocations = []
        for revocation in waiting {
            let isQuiet = assignment.isQuiet(revocation.partitions)
            guard isQuiet || revocation.deadline <= now else {
                revocations.append(revocation)
                continue
            }
            if !isQuiet { report("revocation timed out, batches in flight discarded", revocation.partitions) }
            assignment.release(revocation.partitions)
            perform(.completeRevocation(revocation.partitions))
            perform(.setPartitions(assignment.partitions.count))
        }
    }

    mutating func report(_ message: StaticString, _ partitions: [TopicPartition]) {
        let names = partitions.sorted().map { LogValue.string("\($0.topic)/\($0.partition)") }
        log(.info, message, ["kafka.partitions": .array(names)])
    }

    mutating func seek() {
        rewinds = rewinds.filter { assignment.partitions[$0.key]?.phase == .rewinding }
        guard !rewinds.isEmpty else { return }
        perform(.seek(rewinds, isResuming: !pacing.isPaused))
    }

    /// Handles a successful seek; a failed seek is repeated at the next turn.
    mutating func sought(_ positions: [TopicPartition: Int64]) {
        assignment.rewound(positions.keys)
        for partition in positions.keys { rewinds[partition] = nil }
    }
}

extension LogMetadata {
    init(_ partition: TopicPartition) {
        self = ["kafka.topic": .string(partition.topic), "kafka.partition": .int(partition.partition)]
    }
}
