import OpenSSL

/// The counts of a stage in a partition since its tally began.
///
/// The offset committed with it minus `began` is the sum of the counts: each offset in between
/// ended in exactly one disposition.
package struct StageTally: Hashable, Sendable {
    /// The offset from which on everything is counted.
    package let began: Int64
    /// Records by disposition; none that is zero.
    package private(set) var counts: [Disposition: Int64]
    /// Records written to the topic that the next stage reads, with which `pipeline reconcile`
    /// compares what is there.
    package private(set) var forwarded: Int64

    package init(began: Int64, counts: [Disposition: Int64] = [:], forwarded: Int64 = 0) {
        self.began = began
        self.counts = counts.filter { $0.value != 0 }
        self.forwarded = forwarded
    }

    /// The stage's own dispositions by their names, then those that every stage has.
    var sortedCounts: [(Disposition, Int64)] {
        let own = counts.filter { !Disposition.common.contains($0.key) }
            .sorted { $0.key.name < $1.key.name }
        let common = Disposition.common.compactMap { disposition in
            counts[disposition].map { (disposition, $0) }
        }
        return own.map { ($0.key, $0.value) } + common
    }

    package var total: Int64 { counts.values.reduce(0, +) }

    package mutating func add(_ disposition: Disposition, _ count: Int64 = 1) {
        guard count != 0 else { return }
        counts[disposition, default: 0] += count
    }

    mutating func add(_ other: TallyIncrement) {
        for (disposition, count) in other.counts {
            add(disposition, count)
        }
        forwarded += other.forwarded
    }
}

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
