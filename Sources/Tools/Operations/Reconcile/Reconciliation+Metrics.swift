import Foundation
import Telemetry

extension Reconciliation {
    func metrics(at time: Date) -> MetricsRegistry {
        let registry = MetricsRegistry()
        registry.gauge(
            "reconcile_problems", "Findings of the last `pipeline reconcile`; 0 where every record is accounted for."
        ).set(problems.count)
        registry.gauge("reconcile_timestamp_seconds", "When `pipeline reconcile` last ran to its end, in UNIX time.")
            .set(Int(time.timeIntervalSince1970))
        return registry
    }
}
