import Platform
import Synchronization

/// All metrics of a process, each declared once, with their text for Prometheus.
///
/// Names are `entitlements_<name>_<unit>`; counters end in `_total`. Labels correspond to the
/// dimensions of swift-metrics, and their values come from bounded sets.
package final class MetricsRegistry: Sendable {
    package static let namespace = "entitlements"

    private struct Family: Sendable {
        let name: String
        let write: @Sendable (inout MetricsText) -> Void
    }

    private struct State {
        var families: [Family] = []
        var collectors: [@Sendable () -> Void] = []
    }

    private let common: [(name: String, value: String)]
    private let state = Mutex(State())

    /// - Parameter labels: the labels of every series, such as `stage`.
    package init(labels: KeyValuePairs<String, String> = [:]) {
        common = labels.map { (name: $0.key, value: $0.value) }
    }

    /// Declares a counter.
    ///
    /// - Parameter name: the name of the counted events with their unit, without namespace and `_total`.
    package func counter(_ name: String, _ help: String, labels: [String] = []) -> MetricFamily<Counter> {
        let family = family("\(name)_total", help, labels: labels) { Counter() }
        add(family, type: "counter") { text, values, counter in
            text.sample(family.name, labels: family.labels, values: values, value: "\(counter.value)")
        }
        return family
    }

    package func gauge(_ name: String, _ help: String, labels: [String] = []) -> MetricFamily<Gauge> {
        let family = family(name, help, labels: labels) { Gauge() }
        add(family, type: "gauge") { text, values, gauge in
            text.sample(family.name, labels: family.labels, values: values, value: MetricsText.number(gauge.value))
        }
        return family
    }

    /// Declares a counter of seconds; its series are set to sums that only increase.
    ///
    /// - Parameter name: the name with `_seconds`, without namespace and `_total`.
    package func secondsCounter(_ name: String, _ help: String, labels: [String]) -> MetricFamily<Gauge> {
        let family = family("\(name)_total", help, labels: labels) { Gauge() }
        add(family, type: "counter") { text, values, sum in
            text.sample(family.name, labels: family.labels, values: values, value: MetricsText.number(sum.value))
        }
        return family
    }

    package func histogram(
        _ name: String, _ help: String, bounds: [Double] = Histogram.secondsBounds, labels: [String] = []
    ) -> MetricFamily<Histogram> {
        precondition(zip(bounds, bounds.dropFirst()).allSatisfy(<), "bounds have to rise")
        let family = family(name, help, labels: labels) { Histogram(bounds: bounds) }
        add(family, type: "histogram") { text, values, histogram in
            text.histogram(family.name, labels: family.labels, values: values, value: histogram)
        }
        return family
    }

    /// Declares a metric that is measured at each exposition, under exactly this name.
    ///
    /// Use it for the names that all Prometheus clients share, such as `process_cpu_seconds_total`.
    package func measured(_ name: String, _ help: String, type: String, measure: @escaping @Sendable () -> Double) {
        precondition(MetricName.isValid(name), "\(name) is no metric name")
        add(name) { text in
            text.head(name, help: help, type: type)
            text.sample(name, labels: [], values: [], value: MetricsText.number(measure()))
        }
    }

    /// Adds a function that runs before each exposition, to set gauges.
    package func beforeExposition(_ collect: @escaping @Sendable () -> Void) {
        state.withLock { $0.collectors.append(collect) }
    }

    /// Returns the text for Prometheus, in exposition format 0.0.4.
    package func exposition() -> [UInt8] {
        let (families, collectors) = state.withLock { ($0.families, $0.collectors) }
        for collect in collectors { collect() }
        var text = MetricsText(common: common)
        for family in families.sorted(by: { $0.name < $1.name }) { family.write(&text) }
        return Array(text.text.utf8)
    }

    private func family<Series>(
        _ name: String, _ help: String, labels: [String], make: @escaping @Sendable () -> Series
    ) -> MetricFamily<Series> {
        let whole = "\(Self.namespace)_\(name)"
        precondition(MetricName.isValid(whole), "\(whole) is no metric name")
        precondition(labels.allSatisfy(MetricName.isValid), "\(labels) are no label names")
        precondition(Set(labels).isDisjoint(with: common.map(\.name)), "\(whole) repeats a common label")
        return MetricFamily(name: whole, help: help, labels: labels, make: make)
    }

    private func add<Series>(
        _ family: MetricFamily<Series>, type: String,
        write: @escaping @Sendable (inout MetricsText, [String], Series) -> Void
    ) {
        add(family.name) { text in
            text.head(family.name, help: family.help, type: type)
            for (values, series) in family.all { write(&text, values, series) }
        }
    }

    private func add(_ name: String, _ write: @escaping @Sendable (inout MetricsText) -> Void) {
        state.withLock { state in
            let isNew = !state.families.contains { $0.name == name }
            precondition(isNew, "\(name) is declared twice")
            state.families.append(Family(name: name, write: write))
        }
    }
}

/// The rules of Prometheus for names, as checked by `promtool check metrics`.
enum MetricName {
    static func isValid(_ name: String) -> Bool {
        let isWord = name.utf8.allSatisfy {
            ($0 >= 0x61 && $0 <= 0x7A) || ($0 >= 0x30 && $0 <= 0x39) || $0 == UInt8(ascii: "_")
        }
        let first = name.utf8.first ?? UInt8(ascii: "0")
        return isWord && first >= 0x61 && !name.includes("__")
    }

    /// Escapes a label's value for the exposition.
    static func escaped(_ value: String) -> String {
        var text = ""
        for character in value.unicodeScalars {
            switch character {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(character)
            }
        }
        return text
    }
}
