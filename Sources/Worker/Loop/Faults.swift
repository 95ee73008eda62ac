import Synchronization

/// Faults of the infrastructure: counted each time, said once per change, shown as readiness.
final class Faults: Sendable {
    private let failing = Mutex<[FaultKind: ContinuousClock.Instant]>([:])
    private let log: Log
    private let health: Health
    private let metrics: WorkerMetrics
    private let dependency: HealthCondition

    /// - Parameter dependency: what the stage's own steps depend on.
    init(log: Log, health: Health, metrics: WorkerMetrics, dependency: HealthCondition) {
        self.dependency = dependency
        self.log = log
        self.health = health
        self.metrics = metrics
    }

    /// - Parameter error: its description must hold nothing secret; ours never do.
    func failed(_ kind: FaultKind, _ error: any Error) {
        metrics.faults[kind.rawValue].increment()
        let isNew = failing.withLock { failing in
            guard failing[kind] == nil else { return false }
            failing[kind] = .now
            return true
        }
        health.notReady(condition(kind), "\(kind.rawValue): \(error)")
        guard isNew else { return }
        log.warning(
            "infrastructure fault, trying again until it is over",
            ["step": .string(kind.rawValue), "error": .string(String(describing: error))]
        )
    }

    /// The step has succeeded.
    func succeeded(_ kind: FaultKind) {
        let (since, isAllWell) = failing.withLock { failing in
            let since = failing.removeValue(forKey: kind)
            return (since, !failing.keys.contains { condition($0) == condition(kind) })
        }
        if isAllWell {
            health.ready(condition(kind))
        }
        guard let since else { return }
        log.notice(
            "infrastructure fault is over",
            ["step": .string(kind.rawValue), "lasted_seconds": .seconds(.now - since)]
        )
    }

    func isFailing(_ kind: FaultKind) -> Bool {
        failing.withLock { $0[kind] != nil }
    }

    private func condition(_ kind: FaultKind) -> HealthCondition {
        kind.condition(dependency)
    }
}
