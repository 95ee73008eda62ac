import Synchronization

/// All series of one metric: one for each combination of its labels' values.
///
/// Label values have to come from bounded sets. Should one not, the combinations beyond
/// `seriesMax` are counted together in a series whose labels all say `other`.
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

    /// The series of these label values, made when it is first asked for.
    ///
    /// Looks into a table under a lock: keep what it returns where records are counted one by one.
    package subscript(_ values: String...) -> Series {
        precondition(values.count == labels.count, "\(name) has labels \(labels)")
        return series.withLock { series in
            if let known = series[values] {
                return known
            }
            let isFull = series.count >= Self.seriesMax
            let key = isFull ? labels.map { _ in "other" } : values
            if let known = series[key] {
                return known
            }
            let new = make()
            series[key] = new
            return new
        }
    }

    /// Forgets a series, so that a partition that went elsewhere is no longer shown.
    package func remove(_ values: String...) {
        precondition(!labels.isEmpty, "\(name) has one series, which stays")
        series.withLock { _ = $0.removeValue(forKey: values) }
    }

    /// The series in the order of their label values.
    var all: [(values: [String], series: Series)] {
        series.withLock { series in series.map { (values: $0.key, series: $0.value) } }
            .sorted { $0.values.lexicographicallyPrecedes($1.values) }
    }
}

extension MetricFamily<Counter> {
    /// Increments the only series of a metric without labels.
    package func increment(by amount: Int = 1) {
        self[].increment(by: amount)
    }
}

extension MetricFamily<Gauge> {
    /// Sets the only series of a metric without labels.
    package func set(_ value: Double) {
        self[].set(value)
    }

    package func set(_ value: some BinaryInteger) {
        self[].set(value)
    }
}

extension MetricFamily<Histogram> {
    /// Observes in the only series of a metric without labels.
    package func observe(_ value: Double) {
        self[].observe(value)
    }

    package func observe(_ duration: Duration) {
        self[].observe(duration)
    }
}
