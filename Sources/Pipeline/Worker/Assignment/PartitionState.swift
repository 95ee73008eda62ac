import Kafka
import OpenSSL
import Records

/// An assignment of a partition to this worker.
///
/// A partition that was revoked and assigned again has another claim. Batches in flight under the former claim can no
/// longer be settled, so a revoked or lost partition is never committed.
struct PartitionClaim: Hashable, Sendable {
    let partition: TopicPartition
    let epoch: UInt64
}

/// The state of one partition under one claim.
struct PartitionState: Sendable {
    enum Phase: Sendable, Equatable {
        /// The committed offset is being requested; no record may arrive yet.
        case loading
        case active
        /// The partition is being read again from the settled offset; records from before the seek are dropped.
        case rewinding
        /// A record of the partition must wait; further records are dropped until the partition is read again.
        case held
        /// The partition will be released: batches in flight are finished, and no record is added.
        case revoking
    }

    /// A batch's offsets of this partition, including gaps.
    struct Span: Sendable {
        var batch: Int
        let first: Int64
        var end: Int64
        /// The first record's timestamp in UNIX milliseconds.
        var writtenAt: Int64?
        var readAt: ContinuousClock.Instant?
        /// The batch's contribution to the tally.
        ///
        /// `nil` while the batch is being processed.
        var increment: TallyIncrement?
    }

    var epoch: UInt64
    var phase = Phase.loading
    /// The expected offset of the next record.
    ///
    /// `nil` while unknown.
    var next: Int64?
    /// The tally of all settled records.
    ///
    /// `nil` before the committed tally is loaded.
    var tally: StageTally?
    /// The head of the chain of dead letters up to the settled offset.
    ///
    /// `nil` before the first dead letter.
    var chainHead: SHA256Digest?
    /// The cluster whose offsets the tally counts.
    ///
    /// `nil` if unknown.
    var cluster: String?
    /// A person's statement about the offsets before the tally.
    ///
    /// `nil` without a statement.
    var statement: AccountStatement?
    /// The unknown words of the commit metadata.
    var others: [String: String] = [:]
    /// The offset below which all offsets are settled.
    var settled: Int64?
    /// The last committed offset that the broker has confirmed.
    var committed: Int64?
    /// The hash of settings that have accepted a record, for the commit metadata.
    var acceptedSettings: String?
    /// The accepted settings in the last confirmed commit.
    var committedAcceptedSettings: String?
    /// The spans of batches, in order of their offsets.
    var spans: [Span] = []
    /// The first offset that must not be settled until the partition is read again.
    var pinnedAt: Int64?
    /// A time in UNIX milliseconds; all unsettled records that are not in flight were written after it.
    ///
    /// `nil` if unknown.
    var writtenAfter: Int64?

    /// Begins at the last owner's commit, or else at the start of the log: records that retention has removed are then
    /// counted as skipped, like any other gap.
    ///
    /// - Parameter dispositions: the dispositions that the stage counts.
    mutating func begin(_ committed: CommittedOffset, counting dispositions: [Disposition]) -> TallyStart {
        beginAnew(at: committed.offset ?? 0)
        guard let offset = committed.offset else { return .first }
        self.committed = offset
        guard let metadata = CommitMetadata(committed.metadata, counting: dispositions, in: cluster) else {
            return .begunAnew(at: offset, metadata: committed.metadata)
        }
        acceptedSettings = metadata.acceptedSettings
        committedAcceptedSettings = metadata.acceptedSettings
        tally = metadata.tally
        chainHead = metadata.chainHead
        statement = metadata.statement
        others = metadata.others
        return metadata.tally.began + metadata.tally.total == offset
            ? .resumed(metadata.tally) : .inconsistent(metadata.tally, offset: offset)
    }

    /// Begins reading at an offset, with a new tally.
    mutating func beginAnew(at offset: Int64) {
        phase = .active
        next = offset
        settled = offset
        tally = StageTally(began: offset)
    }

    /// Adds a record to a batch in flight; returns the number of offsets without a record before it.
    ///
    /// - Parameter writtenAt: the record's timestamp in UNIX milliseconds; `nil` if it has none.
    mutating func add(_ offset: Int64, batch: Int, writtenAt: Int64?, at now: ContinuousClock.Instant) -> Int64 {
        let expected = next ?? offset
        next = offset + 1
        guard pinnedAt == nil else { return 0 }
        if let last = spans.indices.last, spans[last].batch == batch {
            spans[last].end = offset + 1
        } else {
            spans.append(Span(batch: batch, first: expected, end: offset + 1, writtenAt: writtenAt, readAt: now))
        }
        return offset - expected
    }

    /// Moves a batch's records from an offset on to another batch; without an offset, all of them.
    mutating func split(_ batch: Int, at offset: Int64?, rest: Int) {
        guard let index = spans.firstIndex(where: { $0.batch == batch }) else { return }
        guard let offset else {
            spans[index].batch = rest
            return
        }
        let whole = spans[index]
        let end = whole.end
        // No records remain if the partition was pinned before them.
        guard offset < end else { return }
        spans[index].end = offset
        let remainder = Span(batch: rest, first: offset, end: end, writtenAt: whole.writtenAt, readAt: whole.readAt)
        spans.insert(remainder, at: index + 1)
    }

    /// Counts a batch, and every later batch that waited only for it.
    mutating func settle(_ batch: Int, _ increment: TallyIncrement) {
        guard let index = spans.firstIndex(where: { $0.batch == batch }) else { return }
        let span = spans[index]
        precondition(
            increment.total == span.end - span.first, "a batch has to account for each of its offsets exactly once")
        spans[index].increment = increment
        settleFirstSpans()
    }

    /// Counts the offsets without a record up to an end.
    ///
    /// `nil` without such offsets, or while the partition is pinned.
    mutating func skip(to end: PartitionEnd, batch: Int, low: Int64?) -> OffsetGap? {
        guard phase == .active, let first = next, first < end.offset else { return nil }
        next = end.offset
        guard pinnedAt == nil else { return nil }
        let gap = OffsetGap(end.partition, first..<end.offset, low: low)
        var increment = TallyIncrement()
        increment.add(gap)
        spans.append(Span(batch: batch, first: first, end: end.offset, increment: increment))
        settleFirstSpans()
        return gap
    }

    private mutating func settleFirstSpans() {
        while let span = spans.first, let increment = span.increment {
            tally?.add(increment.counts, forwarded: increment.forwarded)
            chainHead = increment.chainHead ?? chainHead
            settled = span.end
            writtenAfter = span.writtenAt.map { max($0, writtenAfter ?? .min) } ?? writtenAfter
            spans.removeFirst()
        }
    }

    /// Prevents settling from this offset on; the earliest of several pins counts.
    mutating func pin(at offset: Int64) {
        guard offset < pinnedAt ?? .max else { return }
        pinnedAt = offset
        spans.removeAll { $0.first >= offset }
        if let last = spans.indices.last { spans[last].end = min(spans[last].end, offset) }
    }

    /// The next commit.
    ///
    /// `nil` if the broker has confirmed all settled offsets.
    var commit: OffsetCommit? {
        guard hasUncommitted, let settled, let tally else { return nil }
        let metadata = CommitMetadata(
            tally: tally, acceptedSettings: acceptedSettings, chainHead: chainHead, cluster: cluster,
            statement: statement, others: others)
        return OffsetCommit(offset: settled, metadata: metadata.text)
    }

    /// Handles the broker's confirmation of a commit.
    mutating func confirm(_ commit: OffsetCommit) {
        committed = commit.offset
        committedAcceptedSettings = CommitMetadata(commit.metadata, counting: [])?.acceptedSettings
    }

    /// Whether no records are in flight and all settled offsets are committed.
    var isQuiet: Bool { spans.isEmpty && !hasUncommitted }

    /// Whether a commit is needed: an empty tally needs none, but newly accepted settings do.
    private var hasUncommitted: Bool {
        let hasCounted = settled != committed && tally.map { $0.total > 0 } ?? false
        return hasCounted || acceptedSettings != committedAcceptedSettings
    }
}
