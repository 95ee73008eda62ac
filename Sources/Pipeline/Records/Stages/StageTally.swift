/// The counts of a stage in a partition since its tally began.
///
/// The committed offset minus `began` is the sum of the counts: each offset between them has exactly one disposition.
package struct StageTally: Hashable, Sendable {
    /// The first counted offset.
    package let began: Int64
    /// Number of records by disposition, without zeros.
    package private(set) var counts: [Disposition: Int64]
    /// Number of records written to the next stage's topic; `pipeline reconcile` compares it with the topic's
    /// contents.
    package private(set) var forwarded: Int64

    package init(began: Int64, counts: [Disposition: Int64] = [:], forwarded: Int64 = 0) {
        self.began = began
        self.counts = counts.filter { $0.value != 0 }
        self.forwarded = forwarded
    }

    /// The stage's own dispositions by their names, then the common dispositions.
    var sortedCounts: [(Disposition, Int64)] {
        let own = counts.filter { !Disposition.common.contains($0.key) }.sorted { $0.key.name < $1.key.name }
        let common = Disposition.common.compactMap { disposition in counts[disposition].map { (disposition, $0) } }
        return own.map { ($0.key, $0.value) } + common
    }

    package var total: Int64 { counts.values.reduce(0, +) }

    package mutating func add(_ disposition: Disposition, _ count: Int64 = 1) {
        guard count != 0 else { return }
        counts[disposition, default: 0] += count
    }

    package mutating func add(_ more: [Disposition: Int64], forwarded: Int64) {
        for (disposition, count) in more { add(disposition, count) }
        self.forwarded += forwarded
    }
}
