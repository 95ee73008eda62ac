import Foundation
import Settings
import Worker

/// The result of a reconciliation as metrics, in a file for node_exporter's textfile collector
/// (its README, "Textfile Collector").
struct ReconciliationMetrics {
    private let registry = MetricsRegistry()

    init(_ reconciliation: Reconciliation, at time: Date) {
        registry.gauge(
            "reconcile_problems",
            "Findings of the last `pipeline reconcile`; 0 where every record is accounted for."
        )
        .set(reconciliation.problems.count)
        registry.gauge(
            "reconcile_timestamp_seconds",
            "When `pipeline reconcile` last ran to its end, in UNIX time."
        )
        .set(Int(time.timeIntervalSince1970))
    }

    /// Writes the file as a whole or not at all, so that no half of it is ever collected.
    ///
    /// Throws a `CommandError` that names the file.
    func write(to path: String) throws(CommandError) {
        do {
            // The collector may be another user.
            let url = URL(fileURLWithPath: path)
            try Data(registry.exposition()).write(to: url, options: .atomic)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        } catch {
            throw CommandError(ExitCode.noInput, "cannot write \(path)")
        }
    }
}
