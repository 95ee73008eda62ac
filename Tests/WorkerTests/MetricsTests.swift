import Foundation
import Release
import Telemetry
import TestSupport
import Testing
import Worker

@Suite struct MetricsTests {
    private func text(_ registry: MetricsRegistry) -> String { String(decoding: registry.exposition(), as: UTF8.self) }

    @Test func `counters, gauges and histograms are exposed with their labels`() {
        let registry = MetricsRegistry(labels: ["stage": "verify"])
        let records = registry.counter("records", "Records by disposition.", labels: ["disposition"])
        records["forwarded"].increment(by: 3)
        records["forwarded"].increment()
        records["dead_lettered"].increment()
        let lag = registry.gauge("consumer_lag_records", "Records not yet read.")
        lag.set(2.5)
        let seconds = registry.histogram("batch_seconds", "Batch time.", bounds: [0.1, 1])
        seconds.observe(.milliseconds(50))
        seconds.observe(0.1)
        seconds.observe(5)
        #expect(
            text(registry) == """
                # HELP entitlements_batch_seconds Batch time.
                # TYPE entitlements_batch_seconds histogram
                entitlements_batch_seconds_bucket{stage="verify",le="0.1"} 2
                entitlements_batch_seconds_bucket{stage="verify",le="1"} 2
                entitlements_batch_seconds_bucket{stage="verify",le="+Inf"} 3
                entitlements_batch_seconds_sum{stage="verify"} 5.15
                entitlements_batch_seconds_count{stage="verify"} 3
                # HELP entitlements_consumer_lag_records Records not yet read.
                # TYPE entitlements_consumer_lag_records gauge
                entitlements_consumer_lag_records{stage="verify"} 2.5
                # HELP entitlements_records_total Records by disposition.
                # TYPE entitlements_records_total counter
                entitlements_records_total{stage="verify",disposition="dead_lettered"} 1
                entitlements_records_total{stage="verify",disposition="forwarded"} 4

                """)
    }

    @Test func `a label's value is escaped`() {
        let registry = MetricsRegistry()
        let metric = registry.counter("odd_values", "Odd.", labels: ["value"])
        metric["a\"b\\c\nd"].increment()
        #expect(text(registry).contains(#"{value="a\"b\\c\nd"} 1"#))
    }

    @Test func `label values without bound are counted together`() {
        let registry = MetricsRegistry()
        let metric = registry.counter("many_values", "Many.", labels: ["value"])
        for number in 0..<(MetricFamily<Counter>.seriesMax + 500) { metric["\(number)"].increment() }
        let lines = text(registry).split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(lines.count == MetricFamily<Counter>.seriesMax + 1)
        #expect(lines.contains(#"entitlements_many_values_total{value="other"} 500"#))
    }

    @Test func `a removed series is no longer shown`() {
        let registry = MetricsRegistry()
        let metric = registry.gauge("lag_records", "Lag.", labels: ["partition"])
        metric["1"].set(5)
        metric["2"].set(6)
        metric.remove("1")
        #expect(!text(registry).contains(#"partition="1""#))
        #expect(text(registry).contains(#"partition="2""#))
    }

    @Test func `gauges that are asked are set before the text is made`() {
        let registry = MetricsRegistry()
        let metric = registry.gauge("queue_records", "Queue.")
        registry.beforeExposition { metric.set(7) }
        #expect(text(registry).contains("entitlements_queue_records 7\n"))
    }

    @Test func `increments of many threads all count`() async {
        let registry = MetricsRegistry()
        let counter = registry.counter("records", "Records.")[]
        await withTaskGroup { group in for _ in 0..<8 { group.addTask { for _ in 0..<1000 { counter.increment() } } } }
        #expect(counter.value == 8000)
    }

    @Test func `a metric names version and commit of the build`() {
        let registry = MetricsRegistry(labels: ["stage": "verify"])
        ProcessMetrics.declare(in: registry)
        let labels = #"version="\#(Release.version)",commit="\#(Release.commit)""#
        #expect(text(registry).contains("entitlements_build_info{stage=\"verify\",\(labels)} 1\n"))
    }

    @Test(.enabled(if: Promtool.path != nil, "promtool is not installed")) func `promtool accepts the text`() throws {
        let registry = MetricsRegistry(labels: ["stage": "verify"])
        registry.counter("records", "Records.", labels: ["disposition"])["forwarded"].increment()
        registry.gauge("consumer_lag_records", "Lag.").set(1)
        registry.histogram("batch_seconds", "Batch time.").observe(0.2)
        ProcessMetrics.declare(in: registry)
        _ = HealthRoutes.routes(health: Health(conditions: [.assigned], stallMax: .seconds(60)), metrics: registry)
        let verdict = try Promtool.check(registry.exposition())
        #expect(verdict.exitCode == 0, "\(verdict.output)")
        #expect(text(registry).contains("process_resident_memory_bytes "))
        let broken = try Promtool.check(Array("a{ 1\n".utf8))
        #expect(broken.exitCode != 0)
    }
}
