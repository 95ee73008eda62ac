import Kafka
import OpenSSL
import Records

/// The partitions assigned to this worker: what is in flight, settled and committed of each.
///
/// Pure: it decides, the loop does. One batch may hold records of many partitions, batches may end
/// in any order, and each partition's offset moves only over what is settled without a hole.
struct Assignment: Sendable {
    private(set) var partitions: [TopicPartition: PartitionState] = [:]
    /// The dispositions that the stage counts.
    private let dispositions: [Disposition]
    /// The cluster that the partitions belong to; nil if unknown.
    private let cluster: String?
    private var lastEpoch: UInt64 = 0
    private var lastBatch = 0
    /// Given up or lost with batches in flight, and not yet reported to the stage.
    private var abandoned: Set<TopicPartition> = []

    init(counting dispositions: [Disposition], in cluster: String? = nil) {
        self.dispositions = dispositions
        self.cluster = cluster
    }

    /// Adds partitions, whose committed offsets have to be asked for.
    mutating func assign(_ assigned: [TopicPartition]) -> [PartitionClaim] {
        lastEpoch += 1
        return assigned.map { partition in
            partitions[partition] = PartitionState(epoch: lastEpoch, cluster: cluster)
            return PartitionClaim(partition: partition, epoch: lastEpoch)
        }
    }

    /// Begins at the committed offset; nil if the claim is no longer valid.
    mutating func begin(_ claim: PartitionClaim, _ committed: CommittedOffset) -> TallyStart? {
        guard isCurrent(claim) else { return nil }
        return partitions[claim.partition]?.begin(committed, counting: dispositions)
    }

    func isCurrent(_ claim: PartitionClaim) -> Bool { partitions[claim.partition]?.epoch == claim.epoch }

    /// Adds nothing more; batches in flight can still be settled and committed.
    mutating func revoke(_ revoked: [TopicPartition]) {
        for partition in revoked { partitions[partition]?.phase = .revoking }
    }

    /// Forgets partitions that are given up or lost; their batches in flight settle nothing.
    mutating func release(_ released: [TopicPartition]) {
        for partition in released {
            guard partitions.removeValue(forKey: partition) != nil else { continue }
            abandoned.insert(partition)
        }
    }

    /// The partitions that have to be reported to the stage before it gets another batch.
    mutating func removeAbandoned() -> [TopicPartition] {
        defer { abandoned = [] }
        return Array(abandoned)
    }

    /// Nothing of these partitions is in work, and all of them is committed.
    func isQuiet(_ some: [TopicPartition]) -> Bool { some.allSatisfy { partitions[$0]?.isQuiet ?? true } }

    /// Whether the committed offset of any partition is known, so that its records are read.
    var isReading: Bool { partitions.contains { $0.value.phase != .loading } }

    /// All that is being read.
    var readable: [TopicPartition] {
        partitions.filter { $0.value.phase == .active || $0.value.phase == .rewinding }.map(\.key)
    }
}

extension Assignment {
    /// Adds polled records to the batches in flight, without those of partitions that are not to be
    /// read.
    ///
    /// - Parameter lows: the first offsets of the logs of `gapped(_:)`.
    /// - Returns: the records to process, and the partitions of which the log has gone back.
    mutating func add(_ records: [ConsumerRecord], lows: [TopicPartition: Int64] = [:], at now: ContinuousClock.Instant)
        -> (batch: Batch, rewound: [TopicPartition])
    {
        lastBatch += 1
        var batch = Batch(id: lastBatch)
        batch.records.reserveCapacity(records.count)
        var rewound: [TopicPartition] = []
        var current: TopicPartition?
        var state: PartitionState?
        var part: Int?
        for record in records {
            let partition = record.topicPartition
            let offset = record.offset
            if partition != current {
                if let current { partitions[current] = state }
                current = partition
                state = partitions[partition]
                part = nil
            }
            guard state?.phase == .active else { continue }
            if let next = state?.next, offset < next {
                rewound.append(partition)
                batch.drop(partition)
                state = restarted(partition, state, at: offset)
                part = nil
            }
            let index =
                part
                ?? batch.part(
                    of: PartitionClaim(partition: partition, epoch: state?.epoch ?? lastEpoch),
                    isWatched: state?.pinnedAt != nil)
            part = index
            let skipped = state?.add(offset, batch: lastBatch, writtenAt: record.timestampMilliseconds, at: now) ?? 0
            batch.records.append(record)
            guard skipped > 0 else { continue }
            batch.parts[index].gaps.append(OffsetGap(partition, offset - skipped..<offset, low: lows[partition]))
        }
        if let current { partitions[current] = state }
        return (batch, rewound)
    }

    /// The log has gone back, as it does when a topic is recreated, so its former state is void.
    private mutating func restarted(_ partition: TopicPartition, _ former: PartitionState?, at offset: Int64)
        -> PartitionState
    {
        lastEpoch += 1
        abandoned.insert(partition)
        var state = PartitionState(epoch: lastEpoch, cluster: cluster)
        state.beginAnew(at: offset)
        state.acceptedSettings = former?.acceptedSettings
        // Dead letters of the former log stay in the chain.
        state.chainHead = former?.chainHead
        return state
    }

    /// Settles what holds no record before the ends of partitions that are read to their end.
    mutating func skip(to ends: [PartitionEnd], lows: [TopicPartition: Int64] = [:]) -> [OffsetGap] {
        ends.compactMap { end in
            lastBatch += 1
            let low = lows[end.partition]
            return partitions[end.partition]?.skip(to: end, batch: lastBatch, low: low)
        }
    }

    /// The partitions of which a poll has passed over offsets, before it is added.
    func gapped(_ result: PollResult) -> [TopicPartition] {
        var gapped: Set<TopicPartition> = []
        var nexts = partitions.filter { $0.value.phase == .active }.compactMapValues(\.next)
        var current: TopicPartition?
        var next: Int64?
        for record in result.records {
            if record.topicPartition != current {
                if let current { nexts[current] = next }
                current = record.topicPartition
                next = nexts[record.topicPartition]
            }
            if let expected = next {
                if record.offset > expected { gapped.insert(record.topicPartition) }
                next = record.offset + 1
            }
        }
        if let current { nexts[current] = next }
        for end in result.ends where end.offset > nexts[end.partition] ?? .max { gapped.insert(end.partition) }
        return Array(gapped)
    }

    /// The offsets before the partitions' tallies of which nobody has stated what became of them.
    var unaccounted: Int64 {
        partitions.values.reduce(0) { sum, state in sum + (state.statement == nil ? state.tally?.began ?? 0 : 0) }
    }

    /// Parts a batch, so that its first records can be settled before the rest is processed.
    mutating func split(_ batch: Batch, at count: Int) -> (first: Batch, rest: Batch) {
        lastBatch += 1
        var (first, rest) = (Batch(id: batch.id), Batch(id: lastBatch))
        first.records = Array(batch.records.prefix(count))
        rest.records = Array(batch.records.dropFirst(count))
        let (ends, remaining) = (first.ends, rest.ends)
        for part in batch.parts {
            let (partition, end) = (part.claim.partition, ends[part.claim.partition])
            var (former, latter) = (part, part)
            former.gaps.removeAll { $0.before >= end ?? .min }
            latter.gaps.removeAll { $0.before < end ?? .min }
            first.parts.append(former)
            rest.parts.append(latter)
            guard isCurrent(part.claim), remaining[partition] != nil else { continue }
            partitions[partition]?.split(batch.id, at: end, rest: rest.id)
        }
        return (first, rest)
    }

    /// Counts a batch's part; ignored if the claim is no longer valid.
    mutating func settle(_ batch: Int, _ claim: PartitionClaim, _ increment: TallyIncrement) {
        guard isCurrent(claim) else { return }
        partitions[claim.partition]?.settle(batch, increment)
    }

    /// Prevents settling from this offset on, until `rewind`.
    mutating func pin(_ claim: PartitionClaim, at offset: Int64) {
        guard isCurrent(claim) else { return }
        partitions[claim.partition]?.pin(at: offset)
    }

    /// Stops a partition at an offset until `rewind`; false if it has stopped before.
    mutating func hold(_ claim: PartitionClaim, at offset: Int64) -> Bool {
        guard isCurrent(claim), let state = partitions[claim.partition], state.pinnedAt == nil else { return false }
        pin(claim, at: offset)
        if state.phase == .active { partitions[claim.partition]?.phase = .held }
        return true
    }

    /// The offset from which on a claim's records are not processed: none for a claim that is no
    /// longer current, where the partition is held, and beyond all others.
    func end(_ claim: PartitionClaim) -> Int64 {
        guard isCurrent(claim), let state = partitions[claim.partition] else { return .min }
        return state.phase == .held ? state.pinnedAt ?? .max : .max
    }

    /// The head of the chain of dead letters; nil before the first, or if the claim is no longer
    /// valid.
    func chainHead(_ claim: PartitionClaim) -> SHA256Digest? {
        isCurrent(claim) ? partitions[claim.partition]?.chainHead : nil
    }

    func pinnedAt(_ claim: PartitionClaim) -> Int64? {
        guard isCurrent(claim) else { return nil }
        return partitions[claim.partition]?.pinnedAt
    }

    /// Turns back to the settled offset wherever a partition is pinned; returns where to read from.
    ///
    /// Nothing of them is added until `rewound(_:)`.
    mutating func rewind(where isWanted: (TopicPartition, PartitionState) -> Bool = { _, _ in true })
        -> [TopicPartition: Int64]
    {
        lastEpoch += 1
        var positions: [TopicPartition: Int64] = [:]
        for (partition, state) in partitions where state.pinnedAt != nil && isWanted(partition, state) {
            guard let settled = state.settled else { continue }
            var fresh = state
            fresh.epoch = lastEpoch
            fresh.phase = [.active, .held].contains(state.phase) ? .rewinding : state.phase
            fresh.next = settled
            fresh.spans = []
            fresh.pinnedAt = nil
            partitions[partition] = fresh
            abandoned.insert(partition)
            if fresh.phase == .rewinding { positions[partition] = settled }
        }
        return positions
    }

    /// The partitions are now read from where `rewind` reported.
    mutating func rewound(_ some: some Sequence<TopicPartition>) {
        for partition in some where partitions[partition]?.phase == .rewinding {
            partitions[partition]?.phase = .active
        }
    }
}

extension Assignment {
    /// The settled offsets that are not yet committed.
    func commits() -> [TopicPartition: (PartitionClaim, OffsetCommit)] {
        var commits: [TopicPartition: (PartitionClaim, OffsetCommit)] = [:]
        for (partition, state) in partitions {
            guard let commit = state.commit else { continue }
            commits[partition] = (PartitionClaim(partition: partition, epoch: state.epoch), commit)
        }
        return commits
    }

    /// The broker has confirmed a commit.
    mutating func confirm(_ claim: PartitionClaim, _ commit: OffsetCommit) {
        guard isCurrent(claim) else { return }
        partitions[claim.partition]?.confirm(commit)
    }

    /// Whether the commit of a partition names these settings as having accepted a record.
    func hasAccepted(_ settings: String) -> Bool { partitions.values.contains { $0.acceptedSettings == settings } }

    /// Makes every partition's commit name these settings as having accepted a record.
    mutating func accept(_ settings: String) {
        for partition in partitions.keys { partitions[partition]?.acceptedSettings = settings }
    }

    /// Adds the records before the partitions' ends, as far as brokers have reported these.
    ///
    /// - Parameter now: UNIX milliseconds.
    mutating func waiting(before ends: [TopicPartition: Watermarks], at now: Int64) -> WaitingRecords {
        var waiting = WaitingRecords()
        for partition in partitions.keys {
            let own = partitions[partition]?.waiting(before: ends[partition], at: now)
            waiting.records += own?.records ?? 0
            waiting.oldest = [waiting.oldest, own?.oldest].compactMap(\.self).min()
            waiting.readAt = [waiting.readAt, own?.readAt].compactMap(\.self).min()
        }
        return waiting
    }
}
