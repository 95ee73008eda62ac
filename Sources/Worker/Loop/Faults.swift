import Synchronization

/// The steps at which the infrastructure can fail; also the label `step` of the faults' counter.
enum FaultKind: String, Sendable, CaseIterable {
    case probe, process, deliver, acknowledge, commit, offsets, connection, outbox, publish
    case upkeep
    /// A record that has to wait.
    case held

    /// The health condition that does not hold while it fails.
    ///
    /// - Parameter dependency: what the stage's own steps depend on.
    func condition(_ dependency: HealthCondition) -> HealthCondition {
        switch self {
        case .probe, .process, .acknowledge, .outbox, .upkeep, .held: dependency
        case .deliver, .commit, .offsets, .connection, .publish: .broker
        }
    }
}

/// Faults of the infrastructure: counted each time, logged once per change, shown as readiness.
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
        metrics.faults[kind.rawValue, FaultCause(of: error).rawValue].increment()
        let isNew = failing.withLock { failing in
            guard failing[kind] == nil else { return false }
            failing[kind] = .now
            return true
        }
        health.notReady(condition(kind), "\(kind.rawValue): \(error)")
        guard isNew else { return }
        log.warning(
            "dependency unavailable, retrying",
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
            "dependency available again",
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

/// The waits between repetitions: doubling up to a bound, with jitter so that workers that failed
/// together do not come back together.
struct Backoff: Sendable {
    let delayMin: Duration
    let delayMax: Duration
    private var next: Duration

    init(delayMin: Duration, delayMax: Duration) {
        self.delayMin = delayMin
        self.delayMax = max(delayMin, delayMax)
        next = delayMin
    }

    static let jitters = 0.5...1.0

    /// Between half of the present wait and all of it; the following one is twice as long.
    mutating func nextDelay() -> Duration {
        nextDelay(jitter: Double.random(in: Self.jitters))
    }

    mutating func nextDelay(jitter: Double) -> Duration {
        let delay = next
        next = min(next * 2, delayMax)
        return delay * jitter
    }

    mutating func reset() {
        next = delayMin
    }
}
