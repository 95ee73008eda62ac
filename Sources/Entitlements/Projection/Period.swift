package import AppStore

/// A span of time, start included and end excluded.
package struct Period: Hashable, Sendable {
    package var start: Timestamp
    /// Nil: for ever.
    package var end: Timestamp?

    package init(start: Timestamp, end: Timestamp?) {
        self.start = start
        self.end = end
    }

    package var isEmpty: Bool {
        end.map { $0 <= start } ?? false
    }

    package func contains(_ date: Timestamp) -> Bool {
        start <= date && (end.map { date < $0 } ?? true)
    }

    /// The part at or after `from` and before `until`; nil bounds nothing.
    package func clipped(from: Timestamp?, until: Timestamp?) -> Period {
        var period = self
        if let from, from > period.start {
            period.start = from
        }
        if let until {
            period.end = period.end.map { min($0, until) } ?? until
        }
        return period
    }
}
