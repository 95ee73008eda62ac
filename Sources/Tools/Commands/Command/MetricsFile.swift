import Platform
package import Settings
package import Telemetry

/// The option `--metrics`: a file of metrics for node_exporter's textfile collector (its README,
/// "Textfile Collector").
package struct MetricsFile {
    private static let name = "metrics"
    private let path: String

    /// - Parameter summary: a sentence that states which metrics are written.
    package static func option(_ summary: String) -> CommandOption {
        CommandOption(
            name, argument: "FILE", "\(summary) for node_exporter's textfile collector; FILE has to end in .prom.")
    }

    /// Reads the option.
    ///
    /// Returns `nil` if the option is not given.
    package init?(_ arguments: CommandArguments) throws(UsageError) {
        guard let path = arguments.value(Self.name) else { return nil }
        guard path.hasSuffix(".prom") else {
            throw UsageError("--metrics: \(path) does not end in .prom, so it would not be collected")
        }
        self.path = path
    }

    /// Writes the time of a daily task's last success, or 0 if the task has just found a problem.
    ///
    /// The value 0 lets the alert fire at once instead of after a day.
    package func write(_ task: String, isSuccess: Bool) throws(CommandError) {
        let registry = MetricsRegistry()
        let success = registry.gauge(
            "task_success_timestamp_seconds",
            "When a daily task last succeeded, in UNIX time; 0 if its last run found something.", labels: ["task"])
        success[task].set(isSuccess ? Int(WallClock.milliseconds / 1_000) : 0)
        try write(registry)
    }

    /// Writes the file atomically, so that a partial file is never collected.
    ///
    /// Throws a `CommandError` that names the file.
    package func write(_ registry: MetricsRegistry) throws(CommandError) {
        guard FileSystem.replace(path, with: registry.exposition()) else {
            throw CommandError(ExitCode.noInput, "cannot write \(path)")
        }
    }
}
