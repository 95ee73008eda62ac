/// What goes with a log event: values by constant dotted keys (`kafka.topic`), in order.
package struct LogMetadata: Sendable, ExpressibleByDictionaryLiteral {
    package private(set) var pairs: [(key: StaticString, value: LogValue)]

    package init(dictionaryLiteral elements: (StaticString, LogValue)...) {
        pairs = elements.map { (key: $0.0, value: $0.1) }
    }

    package mutating func append(_ key: StaticString, _ value: LogValue) {
        pairs.append((key, value))
    }

    package func appending(_ other: LogMetadata) -> LogMetadata {
        var all = self
        all.pairs += other.pairs
        return all
    }
}
