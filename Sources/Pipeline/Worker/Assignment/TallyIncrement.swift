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

    mutating func addSkipped(_ count: Int64) {
        guard count > 0 else { return }
        counts[.skipped, default: 0] += count
    }
}

/// How a partition's tally begins after an assignment.
enum TallyStart: Equatable, Sendable {
    /// Nobody has committed yet: it begins with offset 0.
    case first
    /// It continues at the last owner's commit.
    case resumed(StageTally)
    /// The commit carries no tally, so a new one begins there: conservation before that offset can
    /// no longer be shown.
    case begunAnew(at: Int64, metadata: String)
    /// It continues, but its counts and the committed offset do not match.
    case inconsistent(StageTally, offset: Int64)
}
