import Platform

/// How many records wait, for how long, and how old they were when they were settled.
struct WaitingMetrics: Sendable {
    private let lag: Gauge
    private let lagSeconds: Gauge
    private let oldestUnsettled: Gauge
    private let recordAge: Histogram
    private let bodyAge: Histogram

    init(_ registry: MetricsRegistry) {
        lag =
            registry.gauge(
                "lag_records",
                "Records not yet settled, over this worker's partitions."
            )[]
        lagSeconds =
            registry.gauge(
                "lag_seconds",
                "Age of the oldest unsettled record of this worker's partitions, since it was "
                    + "written to this topic; 0 if no record waits."
            )[]
        oldestUnsettled =
            registry.gauge(
                "oldest_unsettled_seconds",
                "Time since this worker read the oldest record that it has not settled; 0 without "
                    + "such a record."
            )[]
        recordAge =
            registry.histogram(
                "record_age_seconds",
                "Age of records when settled, since they were written to this stage's topic.",
                bounds: Histogram.waitBounds
            )[]
        bodyAge =
            registry.histogram(
                "body_age_seconds",
                "Age of bodies when their way ends here, applied, dropped or refused, since they "
                    + "were written to the first topic.",
                bounds: Histogram.waitBounds
            )[]
    }

    /// - Parameter now: UNIX milliseconds.
    func show(_ waiting: WaitingRecords, now: Int64, _ instant: ContinuousClock.Instant) {
        lag.set(waiting.records)
        lagSeconds.set(Double(waiting.oldest.map { WallClock.age(of: $0, at: now) } ?? 0) / 1_000)
        oldestUnsettled.set(waiting.readAt.map { max(0, (instant - $0) / .seconds(1)) } ?? 0)
    }

    /// - Parameters:
    ///   - records: ages of records that were settled, in seconds.
    ///   - bodies: ages of the bodies whose way has ended with them.
    func settled(records: [Double], bodies: [Double]) {
        recordAge.observe(all: records)
        bodyAge.observe(all: bodies)
    }
}
