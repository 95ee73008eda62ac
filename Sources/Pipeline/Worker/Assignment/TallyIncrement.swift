import OpenSSL
import Records

/// The addition of one batch to a partition's tally.
struct TallyIncrement: Equatable, Sendable {
    private(set) var counts: [Disposition: Int64] = [:]
    private(set) var forwarded: Int64 = 0
    /// The digest of the last of its dead letters; nil if it has none.
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
    /// The tally begins with offset 0, as nobody has committed yet.
    case first
    /// The tally continues at the last owner's commit.
    case resumed(StageTally)
    /// The commit carries no tally of this cluster, so a new one begins there: what became of the
    /// offsets before it is unknown until a person states it.
    case begunAnew(at: Int64, metadata: String)
    /// The tally continues, but its counts and the committed offset do not match.
    case inconsistent(StageTally, offset: Int64)
}
