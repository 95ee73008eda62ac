import Kafka
import OpenSSL
import Records

/// An assignment of a partition to this worker.
///
/// A partition that was revoked and assigned again has another claim. Batches in flight under the
/// former claim can no longer be settled, so nothing revoked or lost is ever committed.
struct PartitionClaim: Hashable, Sendable {
    let partition: TopicPartition
    let epoch: UInt64
}

/// The state of one partition under one claim.
struct PartitionState: Sendable {
    enum Phase: Sendable, Equatable {
        /// The committed offset is being requested; no record may come.
        case loading
        case active
        /// The partition is being read again from the settled offset; records still coming from
        /// before are dropped.
        case rewinding
        /// A record of the partition has to wait; records still coming are dropped until it is read
        /// again.
        case held
        /// The partition is to be given up: batches in flight are finished, nothing is added.
        case revoking
    }

    /// The offsets that one batch holds of this partition, gaps among them.
    struct Span: Sendable {
        var batch: Int
        let first: Int64
        var end: Int64
        /// Time at which the first record was written, by its timestamp in UNIX milliseconds.
        var writtenAt: Int64?
        var readAt: ContinuousClock.Instant?
        /// The batch's contribution to the tally.
        ///
        /// `nil` while the batch is in work.
        var increment: TallyIncrement?
    }

    var epoch: UInt64
    var phase = Phase.loading
    /// The offset that the next record should have; nil while nothing is known.
    var next: Int64?
    /// The tally of all settled records; nil before the committed one is loaded.
    var tally: StageTally?
    /// The head of the chain of dead letters, of everything settled; nil before the first.
    var chainHead: SHA256Digest?
    /// The cluster whose offsets are counted; nil if unknown.
    var cluster: String?
    /// A person's statement about the offsets before the tally; nil without one.
    var statement: AccountStatement?
    /// The words of the commit metadata that are not ours.
    var others: [String: String] = [:]
    /// Everything below it is settled.
    var settled: Int64?
    /// The last offset that the broker has confirmed.
    var committed: Int64?
    /// The hash of settings that have accepted a record, for the commit metadata.
    var acceptedSettings: String?
    /// The accepted settings in the last confirmed commit.
    var committedAcceptedSettings: String?
    /// The spans of batches, in order of their offsets.
    var spans: [Span] = []
    /// Nothing from this offset on is settled until the partition is read again.
    var pinnedAt: Int64?
    /// A bound in UNIX milliseconds after which all records were written that are neither settled
    /// nor in flight; nil if unknown.
    var writtenAfter: Int64?

    /// Begins where the last owner committed, else at the start of the log: what retention has
    /// removed of it is then skipped like any other gap.
    ///
    /// - Parameter dispositions: what the stage counts.
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

    /// Begins to read and to count at an offset.
    mutating func beginAnew(at offset: Int64) {
        phase = .active
        next = offset
        settled = offset
        tally = StageTally(began: offset)
    }

    /// Adds a record to a batch in flight; returns how many offsets before it held none.
    ///
    /// - Parameter writtenAt: UNIX milliseconds; nil if the record has no timestamp.
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

    /// Moves a batch's records from an offset on, or all without one, to another batch.
    mutating func split(_ batch: Int, at offset: Int64?, rest: Int) {
        guard let index = spans.firstIndex(where: { $0.batch == batch }) else { return }
        guard let offset else {
            spans[index].batch = rest
            return
        }
        let whole = spans[index]
        let end = whole.end
        // Nothing is left where the partition was pinned before it.
        guard offset < end else { return }
        spans[index].end = offset
        let remainder = Span(batch: rest, first: offset, end: end, writtenAt: whole.writtenAt, readAt: whole.readAt)
        spans.insert(remainder, at: index + 1)
    }

    /// Counts a batch, and with it every one that only waited for it.
    mutating func settle(_ batch: Int, _ increment: TallyIncrement) {
        guard let index = spans.firstIndex(where: { $0.batch == batch }) else { return }
        let span = spans[index]
        precondition(
            increment.total == span.end - span.first, "a batch has to account for each of its offsets exactly once")
        spans[index].increment = increment
        settleFirstSpans()
    }

    /// Counts the offsets up to an end that hold no record; nil without any, and while pinned.
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

    /// Prevents settling from this offset on; of several pins the earliest counts.
    mutating func pin(at offset: Int64) {
        guard offset < pinnedAt ?? .max else { return }
        pinnedAt = offset
        spans.removeAll { $0.first >= offset }
        if let last = spans.indices.last { spans[last].end = min(spans[last].end, offset) }
    }

    /// The next commit; nil if the broker has confirmed everything settled.
    var commit: OffsetCommit? {
        guard hasUncommitted, let settled, let tally else { return nil }
        let metadata = CommitMetadata(
            tally: tally, acceptedSettings: acceptedSettings, chainHead: chainHead, cluster: cluster,
            statement: statement, others: others)
        return OffsetCommit(offset: settled, metadata: metadata.text)
    }

    /// The broker has confirmed a commit.
    mutating func confirm(_ commit: OffsetCommit) {
        committed = commit.offset
        committedAcceptedSettings = CommitMetadata(commit.metadata, counting: [])?.acceptedSettings
    }

    /// Nothing is in work and all that is settled is committed.
    var isQuiet: Bool { spans.isEmpty && !hasUncommitted }

    /// A tally that counts nothing yet is not worth a commit, what settings have accepted is.
    private var hasUncommitted: Bool {
        let hasCounted = settled != committed && tally.map { $0.total > 0 } ?? false
        return hasCounted || acceptedSettings != committedAcceptedSettings
    }
}
