import AppStore
import Records
import Telemetry

/// The metrics of every worker.
final class WorkerMetrics: Sendable {
    let records: MetricFamily<Counter>
    let outputs: MetricFamily<Counter>
    let outboxRecords: MetricFamily<Counter>
    private let deadLetters: MetricFamily<Counter>
    let faults: MetricFamily<Counter>
    private let failing: MetricFamily<Gauge>
    let commits: MetricFamily<Counter>
    let batchRecords: MetricFamily<Histogram>
    let stepSeconds: MetricFamily<Histogram>
    let partitions: MetricFamily<Gauge>
    let batchesInFlight: MetricFamily<Gauge>
    let waiting: WaitingMetrics
    let unaccounted: MetricFamily<Gauge>
    let breaker: MetricFamily<Gauge>
    /// The counters of the dispositions, stored separately because each record increments one.
    private let byDisposition: [Disposition: Counter]

    /// - Parameter dispositions: the dispositions of the stage.
    init(_ registry: MetricsRegistry, _ dispositions: [Disposition]) {
        records = registry.counter("records", "Records settled, by disposition.", labels: ["disposition"])
        outputs = registry.counter("output_records", "Records written and acknowledged.")
        outboxRecords = registry.counter("outbox_records", "Records that an outbox wrote and the broker acknowledged.")
        deadLetters = registry.counter(
            "dead_letters", "Records dead-lettered, by reason and its class.", labels: ["reason", "class"])
        // The counters start at 0: a counter that starts at 1 has not risen, so an alert would miss the first record
        // of its kind.
        for reason in RefusalReason.allCases {
            deadLetters[reason.rawValue, reason.deadLetterClass.rawValue].increment(by: 0)
        }
        faults = registry.counter(
            "infrastructure_faults", "Failed attempts at a step that is retried, by cause.", labels: ["step", "cause"])
        for step in FaultStep.allCases {
            for cause in FaultCause.allCases { faults[step.rawValue, cause.rawValue].increment(by: 0) }
        }
        failing = registry.gauge(
            "dependency_failing", "1 while the last attempt at a step with the dependency failed, by cause.",
            labels: ["dependency", "cause"])
        commits = registry.counter("commits", "Offset commits, by result.", labels: ["result"])
        for result in ["ok", "fenced", "failed"] { commits[result].increment(by: 0) }
        batchRecords = registry.histogram("batch_records", "Records per batch.", bounds: Histogram.countBounds)
        stepSeconds = registry.histogram("batch_step_duration_seconds", "Time per batch and step.", labels: ["step"])
        partitions = registry.gauge("assigned_partitions", "Partitions assigned to this worker.")
        batchesInFlight = registry.gauge("batches_in_flight", "Batches read and not yet settled.")
        waiting = WaitingMetrics(registry)
        unaccounted = registry.gauge(
            "unaccounted_offsets",
            "Offsets before the counts of this worker's partitions of which nobody has stated what became of them.")
        breaker = registry.gauge("breaker_tripped_state", "1 while the breaker is tripped and nothing is settled.")
        byDisposition = Dictionary(uniqueKeysWithValues: dispositions.map { [records] in ($0, records[$0.name]) })
    }

    /// Shows the current causes of a dependency's failures.
    func show(failing causes: Set<FaultCause>, _ dependency: HealthCondition) {
        for cause in FaultCause.allCases {
            failing[dependency.name, cause.rawValue].set(causes.contains(cause) ? 1 : 0)
        }
    }

    func deadLettered(_ reason: RefusalReason) {
        deadLetters[reason.rawValue, reason.deadLetterClass.rawValue].increment()
    }

    func settled(_ increment: TallyIncrement) {
        for (disposition, count) in increment.counts {
            precondition(
                byDisposition[disposition] != nil,
                "the stage's description does not list the disposition \(disposition)")
            byDisposition[disposition]?.increment(by: Int(count))
        }
    }
}
