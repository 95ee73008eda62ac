/// What one batch adds to a partition's tally.
struct TallyIncrement: Equatable, Sendable {
    private(set) var counts: [Disposition: Int64] = [:]
    private(set) var forwarded: Int64 = 0

    var total: Int64 { counts.values.reduce(0, +) }

    mutating func add(_ disposition: Disposition, outputs: Int = 0) {
        counts[disposition, default: 0] += 1
        forwarded += Int64(outputs)
    }

    mutating func addSkipped(_ count: Int64) {
        guard count > 0 else { return }
        counts[.skipped, default: 0] += count
    }
}
