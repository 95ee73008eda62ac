package import AppStore

/// A normalised set of periods: ascending, none empty, no two adjacent.
package struct PeriodSet: Hashable, Sendable {
    package private(set) var periods: [Period] = []

    package init() {}

    package init(_ periods: some Sequence<Period>) { for period in periods { insert(period) } }

    package var isEmpty: Bool { periods.isEmpty }

    package func contains(_ date: Timestamp) -> Bool { periods.contains { $0.contains(date) } }

    /// Adds a period; cheap if it begins at or after the start of the last period, as renewals do.
    package mutating func insert(_ period: Period) {
        guard !period.isEmpty else { return }
        guard let last = periods.last else {
            periods.append(period)
            return
        }
        if period.start >= last.start { appendOrExtend(period) } else { insertBefore(period) }
    }

    package func clipped(from: Timestamp?, until: Timestamp?) -> PeriodSet {
        if from == nil, until == nil { return self }
        return PeriodSet(periods.lazy.map { $0.clipped(from: from, until: until) })
    }

    package mutating func formUnion(_ other: PeriodSet) { for period in other.periods { insert(period) } }

    private mutating func appendOrExtend(_ period: Period) {
        let last = periods.count - 1
        guard let lastEnd = periods[last].end else { return }
        guard period.start <= lastEnd else {
            periods.append(period)
            return
        }
        if let end = period.end { periods[last].end = max(end, lastEnd) } else { periods[last].end = nil }
    }

    private mutating func insertBefore(_ period: Period) {
        let later = periods.firstIndex { $0.start > period.start } ?? periods.endIndex
        let tail = periods[later...]
        periods.removeSubrange(later...)
        if periods.isEmpty { periods.append(period) } else { appendOrExtend(period) }
        for next in tail { appendOrExtend(next) }
    }
}

/// A period with an included start and an excluded end.
package struct Period: Hashable, Sendable {
    package var start: Timestamp
    /// The end, excluded.
    ///
    /// `nil` if the period never ends.
    package var end: Timestamp?

    package init(start: Timestamp, end: Timestamp?) {
        self.start = start
        self.end = end
    }

    package var isEmpty: Bool { end.map { $0 <= start } ?? false }

    package func contains(_ date: Timestamp) -> Bool { start <= date && (end.map { date < $0 } ?? true) }

    /// The part of the period at or after `from` and before `until`; `nil` means no limit.
    package func clipped(from: Timestamp?, until: Timestamp?) -> Period {
        var period = self
        if let from, from > period.start { period.start = from }
        if let until { period.end = period.end.map { min($0, until) } ?? until }
        return period
    }
}
