import Platform
import Telemetry

/// The metrics of waiting records (number and age), and of the ages of settled records.
struct WaitingMetrics: Sendable {
    private let lag: Gauge
    private let lagSeconds: Gauge
    private let oldestUnsettled: Gauge
    private let recordAge: Histogram
    private let bodyAge: Histogram

    init(_ registry: MetricsRegistry) {
        lag = registry.gauge("lag_records", "Records not yet settled, over this worker's partitions.")[]
        lagSeconds =
            registry.gauge(
                "lag_seconds",
                "Age of the oldest unsettled record of this worker's partitions, since it was "
                    + "written to this topic; 0 if no record waits.")[]
        oldestUnsettled =
            registry.gauge(
                "oldest_unsettled_seconds",
                "Time since this worker read the oldest record that it has not settled; 0 without such a record.")[]
        recordAge =
            registry.histogram(
                "record_age_seconds", "Age of records when settled, since they were written to this stage's topic.",
                bounds: Histogram.waitBounds)[]
        bodyAge =
            registry.histogram(
                "body_age_seconds",
                "Age of bodies that this stage applied, dropped or refused, since they were "
                    + "written to the first topic.", bounds: Histogram.waitBounds)[]
    }

    /// Sets the gauges.
    ///
    /// - Parameters:
    ///   - now: the time in UNIX milliseconds, for the time since a record was written.
    ///   - instant: the same time on the monotonic clock, for the time since the record was read.
    func show(_ waiting: WaitingRecords, now: Int64, instant: ContinuousClock.Instant) {
        lag.set(waiting.records)
        let oldest = waiting.oldest.map { WallClock.age(of: $0, at: now) } ?? 0
        lagSeconds.set(Double(oldest) / 1_000)
        oldestUnsettled.set(waiting.readAt.map { max(0, (instant - $0) / .seconds(1)) } ?? 0)
    }

    /// Adds the ages of settled records, in seconds.
    ///
    /// - Parameter bodySeconds: the ages of the records after which no further stage processes the body.
    func settled(recordSeconds: [Double], bodySeconds: [Double]) {
        recordAge.observe(all: recordSeconds)
        bodyAge.observe(all: bodySeconds)
    }
}
