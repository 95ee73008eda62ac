import Synchronization
import Telemetry

@testable import Worker

/// A worker's loop in this process.
final class RunningWorker: Sendable {
    let loop: WorkerLoop
    let health: Health
    let metrics: MetricsRegistry
    private let task = Mutex<Task<Void, any Error>?>(nil)

    init(
        _ stage: any Stage, _ configuration: WorkerConfiguration, _ letters: PlainLetters, _ breaker: Breaker?,
        _ log: Log
    ) throws {
        health = Health(
            conditions: [.assigned, .broker] + (breaker == nil ? [] : [.breaker])
                + [configuration.dependency, configuration.outboxDependency].compactMap(\.self).filter { $0 != .broker },
            stallMax: .seconds(60))
        metrics = MetricsRegistry()
        loop = try WorkerLoop(
            ActiveStage(stage: stage, deadLetters: { _ in letters }, breaker: breaker), configuration: configuration,
            health: health, metrics: metrics, log: log)
    }

    func start() {
        let loop = loop
        task.withLock { $0 = Task { try await loop.run() } }
    }

    /// The gauge of waiting records.
    var lag: Int? { gauge("lag_records") }

    /// A gauge without labels.
    func gauge(_ name: String) -> Int? {
        let text = String(decoding: metrics.exposition(), as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix("entitlements_\(name) ") }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) }
    }

    /// The value of the series that a line of `/metrics` begins with.
    func value(_ series: String) -> Double? {
        String(decoding: metrics.exposition(), as: UTF8.self).split(separator: "\n").first {
            $0.hasPrefix(series + " ")
        }.flatMap { $0.split(separator: " ").last }.flatMap { Double($0) }
    }

    /// The causes by which a dependency is shown to fail now.
    func failing(_ dependency: HealthCondition) -> [FaultCause] {
        FaultCause.allCases.filter { cause in
            let labels = #"dependency="\#(dependency.name)",cause="\#(cause.rawValue)""#
            return value("entitlements_dependency_failing{\(labels)}") == 1
        }
    }

    /// Stops in good order and waits for the end.
    func stop() async throws {
        loop.stop()
        let task = task.withLock { $0 }
        try await task?.value
    }
}
