import OpenSSL
import Records

/// The increment by one batch of a partition's tally.
struct TallyIncrement: Equatable, Sendable {
    private(set) var counts: [Disposition: Int64] = [:]
    private(set) var forwarded: Int64 = 0
    /// The digest of the batch's last dead letter.
    ///
    /// `nil` without a dead letter.
    var chainHead: SHA256Digest?

    var total: Int64 { counts.values.reduce(0, +) }

    mutating func add(_ disposition: Disposition, forwarded count: Int = 0) {
        counts[disposition, default: 0] += 1
        forwarded += Int64(count)
    }

    mutating func add(_ gap: OffsetGap) {
        for (disposition, count) in [(.skipped, gap.removed), (.control, gap.count - gap.removed)]
            as [(Disposition, Int64)] where count > 0
        { counts[disposition, default: 0] += count }
    }
}

/// The beginning of a partition's tally after an assignment.
enum TallyStart: Equatable, Sendable {
    /// The tally begins with offset 0, because there is no commit yet.
    case first
    /// The tally continues at the last owner's commit.
    case resumed(StageTally)
    /// The commit contains no tally of this cluster, so a new tally begins at its offset: the results of earlier
    /// offsets are unknown until a person states them.
    case begunAnew(at: Int64, metadata: String)
    /// The tally continues, but its counts do not match the committed offset.
    case inconsistent(StageTally, offset: Int64)
}
