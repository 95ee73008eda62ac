package import AppStore

/// A value and the date from which it holds, so that a change does not rewrite what was sold.
package struct EffectiveDated<Value: Hashable & Sendable>: Hashable, Sendable {
    package var value: Value
    /// Nil: since ever.
    package var from: Timestamp?

    package init(_ value: Value, from: Timestamp? = nil) {
        self.value = value
        self.from = from
    }
}

extension Collection {
    /// The value that holds at a date: of the entries that begin at or before it, the latest.
    package func value<Value>(at date: Timestamp) -> Value?
    where Element == EffectiveDated<Value> {
        var latest: EffectiveDated<Value>?
        for entry in self where entry.from.map({ $0 <= date }) ?? true {
            if (latest?.from ?? .earliest) <= (entry.from ?? .earliest) {
                latest = entry
            }
        }
        return latest?.value
    }
}
