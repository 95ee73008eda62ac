import Kafka
import OpenSSL
import Records

/// The partitions assigned to this worker, and for each the offsets in flight, settled and committed.
///
/// The type is pure: it decides, and the loop acts. One batch may contain records of many partitions, batches may end
/// in any order, and each partition's offset advances only over settled offsets without a gap.
struct Assignment: Sendable {
    private(set) var partitions: [TopicPartition: PartitionState] = [:]
    /// The dispositions that the stage counts.
    private let dispositions: [Disposition]
    /// The cluster of the partitions.
    ///
    /// `nil` if unknown.
    private let cluster: String?
    private var lastEpoch: UInt64 = 0
    private var lastBatch = 0
    /// Partitions that were released or lost with batches in flight, and not yet reported to the stage.
    private var abandoned: Set<TopicPartition> = []

    init(counting dispositions: [Disposition], in cluster: String? = nil) {
        self.dispositions = dispositions
        self.cluster = cluster
    }

    /// Adds partitions, whose committed offsets must then be requested.
    mutating func assign(_ assigned: [TopicPartition]) -> [PartitionClaim] {
        lastEpoch += 1
        return assigned.map { partition in
            partitions[partition] = PartitionState(epoch: lastEpoch, cluster: cluster)
            return PartitionClaim(partition: partition, epoch: lastEpoch)
        }
    }

    /// Begins reading at the committed offset; `nil` if the claim is no longer valid.
    mutating func begin(_ claim: PartitionClaim, _ committed: CommittedOffset) -> TallyStart? {
        guard isCurrent(claim) else { return nil }
        return partitions[claim.partition]?.begin(committed, counting: dispositions)
    }

    func isCurrent(_ claim: PartitionClaim) -> Bool { partitions[claim.partition]?.epoch == claim.epoch }

    /// Marks partitions as revoked: no records are added; batches in flight can still be settled and committed.
    mutating func revoke(_ revoked: [TopicPartition]) {
        for partition in revoked { partitions[partition]?.phase = .revoking }
    }

    /// Removes released or lost partitions; their batches in flight settle nothing.
    mutating func release(_ released: [TopicPartition]) {
        for partition in released {
            guard partitions.removeValue(forKey: partition) != nil else { continue }
            abandoned.insert(partition)
        }
    }

    /// Returns and removes the partitions to report to the stage before its next batch.
    mutating func removeAbandoned() -> [TopicPartition] {
        defer { abandoned = [] }
        return Array(abandoned)
    }

    /// Whether no records of these partitions are in flight, and all settled offsets are committed.
    func isQuiet(_ some: [TopicPartition]) -> Bool { some.allSatisfy { partitions[$0]?.isQuiet ?? true } }

    /// Whether the committed offset of any partition is known, so that its records are read.
    var isReading: Bool { partitions.contains { $0.value.phase != .loading } }

    /// The partitions that are being read.
    var readable: [TopicPartition] {
        partitions.filter { $0.value.phase == .active || $0.value.phase == .rewinding }.map(\.key)
    }
}

extension Assignment {
    /// Adds polled records to the batches in flight, except records of partitions that must not be read.
    ///
    /// - Parameter lows: the first offsets of the logs of `gapped(_:)`.
    /// - Returns: the records to process, and the partitions whose log has restarted.
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

    /// Resets a partition whose log has restarted, for example because its topic was recreated.
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

    /// Settles the offsets without a record before the ends of partitions that are read to their end.
    mutating func skip(to ends: [PartitionEnd], lows: [TopicPartition: Int64] = [:]) -> [OffsetGap] {
        ends.compactMap { end in
            lastBatch += 1
            let low = lows[end.partition]
            return partitions[end.partition]?.skip(to: end, batch: lastBatch, low: low)
        }
    }

    /// The partitions in which a poll has skipped offsets; called before the poll is added.
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

    /// Number of offsets before the partitions' tallies about which no person has made a statement.
    var unaccounted: Int64 {
        partitions.values.reduce(0) { sum, state in sum + (state.statement == nil ? state.tally?.began ?? 0 : 0) }
    }

    /// Splits a batch, so that its first records can be settled before the other records are processed.
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

    /// Counts a batch's part, unless the claim is no longer valid.
    mutating func settle(_ batch: Int, _ claim: PartitionClaim, adding increment: TallyIncrement) {
        guard isCurrent(claim) else { return }
        partitions[claim.partition]?.settle(batch, increment)
    }

    /// Prevents settling from this offset on, until `rewind`.
    mutating func pin(_ claim: PartitionClaim, at offset: Int64) {
        guard isCurrent(claim) else { return }
        partitions[claim.partition]?.pin(at: offset)
    }

    /// Stops a partition at an offset until `rewind`; false if it was already stopped.
    mutating func hold(_ claim: PartitionClaim, at offset: Int64) -> Bool {
        guard isCurrent(claim), let state = partitions[claim.partition], state.pinnedAt == nil else { return false }
        pin(claim, at: offset)
        if state.phase == .active { partitions[claim.partition]?.phase = .held }
        return true
    }

    /// The first offset of a claim's records that must not be processed.
    ///
    /// The minimum of `Int64` for an invalid claim, the held offset of a held partition, else the maximum of `Int64`.
    func end(_ claim: PartitionClaim) -> Int64 {
        guard isCurrent(claim), let state = partitions[claim.partition] else { return .min }
        return state.phase == .held ? state.pinnedAt ?? .max : .max
    }

    /// The head of the chain of dead letters.
    ///
    /// `nil` before the first dead letter, or if the claim is no longer valid.
    func chainHead(_ claim: PartitionClaim) -> SHA256Digest? {
        isCurrent(claim) ? partitions[claim.partition]?.chainHead : nil
    }

    func pinnedAt(_ claim: PartitionClaim) -> Int64? {
        guard isCurrent(claim) else { return nil }
        return partitions[claim.partition]?.pinnedAt
    }

    /// Resets each pinned partition to its settled offset; returns the offsets to read from.
    ///
    /// No records of these partitions are added until `rewound(_:)`.
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

    /// Marks the partitions as read from the offsets that `rewind` returned.
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

    /// Handles the broker's confirmation of a commit.
    mutating func confirm(_ claim: PartitionClaim, _ commit: OffsetCommit) {
        guard isCurrent(claim) else { return }
        partitions[claim.partition]?.confirm(commit)
    }

    /// Whether a partition's commit contains these settings as accepted settings.
    func hasAccepted(_ settings: String) -> Bool { partitions.values.contains { $0.acceptedSettings == settings } }

    /// Adds these settings to every partition's commit as accepted settings.
    mutating func accept(_ settings: String) {
        for partition in partitions.keys { partitions[partition]?.acceptedSettings = settings }
    }

    /// Adds up the records before the partitions' ends, for partitions whose ends brokers have reported.
    ///
    /// - Parameter now: the time in UNIX milliseconds.
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
