import Synchronization
import Telemetry

/// The steps that fail when the infrastructure does; the label `step` of the metric `faults`.
enum FaultStep: String, Sendable, CaseIterable {
    /// The check of an idle stage's dependency.
    case probe
    case process, deliver, acknowledge, commit
    /// The request for the committed offsets of new partitions.
    case offsets
    case connection
    /// An outbox that reads its database, and one that publishes what it has read.
    case outbox, publish
    case upkeep
    /// One record that waits alone (`Holds`), while the infrastructure answers.
    case held
}

/// Faults of the infrastructure: counted each time, logged once per change, shown as readiness.
final class Faults: Sendable {
    private let failingSince = Mutex<[FaultStep: ContinuousClock.Instant]>([:])
    private let log: Log
    private let health: Health
    private let metrics: WorkerMetrics
    private let dependency: HealthCondition
    private let outboxes: HealthCondition

    /// - Parameters:
    ///   - dependency: what the stage's own steps depend on.
    ///   - outboxes: what its outboxes depend on.
    init(
        log: Log,
        health: Health,
        metrics: WorkerMetrics,
        dependency: HealthCondition,
        outboxes: HealthCondition
    ) {
        self.dependency = dependency
        self.outboxes = outboxes
        self.log = log
        self.health = health
        self.metrics = metrics
    }

    /// Counts a fault of a step, and logs the step's first one since it last succeeded.
    ///
    /// - Parameter error: its description is logged and shown, and must contain no secret.
    func failed(_ step: FaultStep, _ error: any Error) {
        metrics.faults[step.rawValue, FaultCause(of: error).rawValue].increment()
        let isNew = failingSince.withLock { failing in
            guard failing[step] == nil else { return false }
            failing[step] = .now
            return true
        }
        health.notReady(condition(step), "\(step.rawValue): \(error)")
        guard isNew else { return }
        log.warning(
            "dependency unavailable, retrying",
            ["step": .string(step.rawValue), "error": .string(String(describing: error))]
        )
    }

    /// Ends a step's fault; the health condition is true again once no other step of it fails.
    func succeeded(_ step: FaultStep) {
        let (since, isConditionMet) = failingSince.withLock { failing in
            let since = failing.removeValue(forKey: step)
            return (since, !failing.keys.contains { condition($0) == condition(step) })
        }
        if isConditionMet {
            health.ready(condition(step))
        }
        guard let since else { return }
        log.notice(
            "dependency available again",
            ["step": .string(step.rawValue), "lasted_seconds": .seconds(.now - since)]
        )
    }

    func isFailing(_ step: FaultStep) -> Bool {
        failingSince.withLock { $0[step] != nil }
    }

    /// The health condition that a fault of this step makes false.
    private func condition(_ step: FaultStep) -> HealthCondition {
        switch step {
        case .probe, .process, .acknowledge, .upkeep, .held: dependency
        case .outbox: outboxes
        case .deliver, .commit, .offsets, .connection, .publish: .broker
        }
    }
}
