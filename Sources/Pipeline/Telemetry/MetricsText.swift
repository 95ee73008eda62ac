/// A writer of the exposition.
struct MetricsText {
    private(set) var text = ""
    private let common: [(name: String, value: String)]

    init(common: [(name: String, value: String)]) { self.common = common }

    mutating func head(_ name: String, help: String, type: String) {
        let line = help.split(separator: "\n").joined(separator: " ")
        text += "# HELP \(name) \(line)\n# TYPE \(name) \(type)\n"
    }

    mutating func sample(_ name: String, labels: [String], values: [String], bound: String? = nil, value: String) {
        var pairs = common.map { "\($0.name)=\"\(MetricName.escaped($0.value))\"" }
        pairs += zip(labels, values).map { "\($0)=\"\(MetricName.escaped($1))\"" }
        if let bound { pairs.append("le=\"\(bound)\"") }
        text += name
        if !pairs.isEmpty { text += "{" + pairs.joined(separator: ",") + "}" }
        text += " \(value)\n"
    }

    mutating func histogram(_ name: String, labels: [String], values: [String], value histogram: Histogram) {
        let snapshot = histogram.snapshot
        var count = 0
        for (bound, inRange) in zip(histogram.bounds + [.infinity], snapshot.counts) {
            count += inRange
            sample("\(name)_bucket", labels: labels, values: values, bound: Self.number(bound), value: "\(count)")
        }
        sample("\(name)_sum", labels: labels, values: values, value: Self.number(snapshot.sum))
        sample("\(name)_count", labels: labels, values: values, value: "\(count)")
    }

    /// Formats a number for Prometheus.
    static func number(_ value: Double) -> String {
        guard value.isFinite else { return value.isNaN ? "NaN" : value < 0 ? "-Inf" : "+Inf" }
        guard let whole = Int64(exactly: value) else { return value.description }
        return String(whole)
    }
}
