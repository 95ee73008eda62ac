import Synchronization

/// All series of one metric: one for each combination of its labels' values.
///
/// Label values must come from bounded sets. Combinations beyond `seriesMax` are counted together
/// in a series whose labels are all `other`.
package final class MetricFamily<Series: Sendable>: Sendable {
    package static var seriesMax: Int { 1000 }

    let name: String
    let help: String
    let labels: [String]
    private let make: @Sendable () -> Series
    private let series: Mutex<[[String]: Series]>

    init(name: String, help: String, labels: [String], make: @escaping @Sendable () -> Series) {
        self.name = name
        self.help = help
        self.labels = labels
        self.make = make
        series = Mutex(labels.isEmpty ? [[]: make()] : [:])
    }

    /// The series of these label values, created on first access.
    ///
    /// Each access locks a table: store the series if it counts single records.
    package subscript(_ values: String...) -> Series {
        precondition(values.count == labels.count, "\(name) has labels \(labels)")
        return series.withLock { series in
            if let known = series[values] { return known }
            let isFull = series.count >= Self.seriesMax
            let key = isFull ? labels.map { _ in "other" } : values
            if let known = series[key] { return known }
            let new = make()
            series[key] = new
            return new
        }
    }

    /// Removes a series, for example that of a revoked partition.
    package func remove(_ values: String...) {
        precondition(!labels.isEmpty, "\(name) has one series, which stays")
        series.withLock { _ = $0.removeValue(forKey: values) }
    }

    /// All series, ordered by label values.
    var all: [(values: [String], series: Series)] {
        series.withLock { series in series.map { (values: $0.key, series: $0.value) } }.sorted {
            $0.values.lexicographicallyPrecedes($1.values)
        }
    }
}

extension MetricFamily<Counter> {
    /// Increments the only series of a metric without labels.
    package func increment(by amount: Int = 1) { self[].increment(by: amount) }
}

extension MetricFamily<Gauge> {
    /// Sets the only series of a metric without labels.
    package func set(_ value: Double) { self[].set(value) }

    package func set(_ value: some BinaryInteger) { self[].set(value) }
}

extension MetricFamily<Histogram> {
    /// Observes a value in the only series of a metric without labels.
    package func observe(_ value: Double) { self[].observe(value) }

    package func observe(_ duration: Duration) { self[].observe(duration) }
}

/// A number that only increases; one series of a metric.
package final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    init() {}

    package var value: Int { count.load(ordering: .relaxed) }

    package func increment(by amount: Int = 1) {
        assert(amount >= 0, "a counter only rises")
        count.wrappingAdd(amount, ordering: .relaxed)
    }
}

/// A number that increases and decreases; one series of a metric.
package final class Gauge: Sendable {
    private let bits = Atomic<UInt64>(0)

    init() {}

    package var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    package func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

    package func set(_ value: some BinaryInteger) { set(Double(value)) }
}

/// The number of values in each range; one series of a metric.
package final class Histogram: Sendable {
    struct Snapshot: Sendable {
        /// Number of values in each range, not cumulative; the last range is above all bounds.
        var counts: [Int]
        var sum = 0.0
    }

    /// Ascending upper bounds of the ranges, inclusive.
    let bounds: [Double]
    private let state: Mutex<Snapshot>

    /// Bounds for durations, in seconds.
    package static let secondsBounds = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
    ]

    /// Bounds for waiting times of records, in seconds.
    package static let waitBounds: [Double] = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 86_400]

    /// Bounds for numbers of records: powers of four.
    package static let countBounds: [Double] = [1, 4, 16, 64, 256, 1024, 4096, 16_384]

    init(bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(Snapshot(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    package func observe(_ value: Double) {
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[index] += 1
            state.sum += value
        }
    }

    /// Observes several values with one lock.
    package func observe(all values: [Double]) {
        guard !values.isEmpty else { return }
        let indexes = values.map { value in bounds.firstIndex { value <= $0 } ?? bounds.count }
        state.withLock { state in
            for (index, value) in zip(indexes, values) {
                state.counts[index] += 1
                state.sum += value
            }
        }
    }

    /// Observes a duration in seconds.
    package func observe(_ duration: Duration) { observe(duration / .seconds(1)) }

    var snapshot: Snapshot { state.withLock { $0 } }
}
