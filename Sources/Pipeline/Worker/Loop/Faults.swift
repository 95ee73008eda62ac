import Kafka
import Synchronization
import Telemetry

/// The steps that fail if the infrastructure fails; the label `step` of the metric `faults`.
enum FaultStep: String, Sendable, CaseIterable {
    /// The check of an idle stage's dependency.
    case probe
    case process, deliver, acknowledge, commit
    /// The request for the committed offsets of new partitions.
    case offsets
    case connection
    /// The steps of an outbox: reading its database, and publishing the records that it has read.
    case outbox, publish
    /// The work of an outbox that writes no records, beside another one.
    case events
    case upkeep
    /// A record that waits alone (`Holds`), although the infrastructure answers.
    case held

    /// Whether the worker repeats the step until the step is answered or its work is dropped.
    ///
    /// The worker also repeats the step of a connection: librdkafka reports its loss once, and earlier
    /// acknowledgements are not an answer. A probe runs only while the stage is idle.
    fileprivate var isRepeated: Bool { self != .probe }

    /// Whether an answer to the step proves that the dependency answers.
    ///
    /// Most stages send no request when a batch is acknowledged, and one processed record proves nothing about others.
    fileprivate var isEvidence: Bool { self != .acknowledge && self != .held }
}

/// Faults of the infrastructure: each is counted, each change is logged once, and readiness and a metric show the
/// present faults.
///
/// Only an answer ends a fault: a call that returned, an acknowledged record, a committed offset. Dropped work is not
/// an answer. Any answer of a dependency ends every fault recorded against it, except faults of steps that are being
/// repeated now: a dependency may answer other requests but keep failing at one step.
final class Faults: Sendable {
    private struct Fault {
        let since: ContinuousClock.Instant
        var cause: FaultCause
        var dependency: HealthCondition
        /// Whether the step is still being repeated; false after its work was dropped.
        var isRepeated: Bool
    }

    private let failing = Mutex<[FaultStep: Fault]>([:])
    private let log: Log
    private let health: Health
    private let metrics: WorkerMetrics
    private let dependency: HealthCondition
    private let outboxes: HealthCondition

    /// - Parameters:
    ///   - dependency: the dependency of the stage's own steps.
    ///   - outboxes: the dependency of the stage's outboxes.
    init(log: Log, health: Health, metrics: WorkerMetrics, dependency: HealthCondition, outboxes: HealthCondition) {
        self.dependency = dependency
        self.outboxes = outboxes
        self.log = log
        self.health = health
        self.metrics = metrics
        for condition in [.broker, dependency, outboxes] { metrics.show(failing: [], condition) }
    }

    /// Makes one attempt at a step: an error of `call` is a fault, and its return is the answer.
    func attempt<Value>(_ step: FaultStep, _ call: () async throws -> Value) async throws -> Value {
        do {
            let value = try await call()
            answered(step)
            return value
        } catch {
            if Self.isFault(error) { failed(step, error) }
            throw error
        }
    }

    /// Whether an error is a fault of the dependency.
    ///
    /// A call that this worker ended itself is not, nor is a record that was already counted as a fault of publishing.
    private static func isFault(_ error: any Error) -> Bool {
        !Task.isCancelled && (error as? KafkaError)?.code != .closed && !(error is UndeliveredRecord)
    }

    /// Counts a fault of a step; logs the step's first fault since its last answer.
    ///
    /// - Parameter error: the error; its description is logged and shown, and must contain no secret.
    func failed(_ step: FaultStep, _ error: any Error) {
        let cause = FaultCause(of: error)
        let dependency = condition(step, error)
        metrics.faults[step.rawValue, cause.rawValue].increment()
        let isNew = failing.withLock { failing in
            let former = failing[step]
            failing[step] = Fault(
                since: former?.since ?? .now, cause: cause, dependency: dependency, isRepeated: step.isRepeated)
            show(failing, [dependency, former?.dependency].compactMap(\.self))
            health.notReady(dependency, "\(step.rawValue): \(error)")
            return former == nil
        }
        guard isNew else { return }
        log.warning(
            "dependency unavailable, retrying",
            ["step": .string(step.rawValue), "error": .string(String(describing: error))])
    }

    /// Ends faults if the broker has acknowledged all records of the delivery.
    func answered(_ step: FaultStep, by report: DeliveryReport) {
        if report.isComplete, !report.offsets.isEmpty { answered(step) }
    }

    /// Ends faults if the group has committed all offsets.
    func answered(_ step: FaultStep, by outcome: CommitOutcome) { if outcome.failures.isEmpty { answered(step) } }

    /// Ends the fault of held records with the verdict on the last one.
    func answered(by verdict: Verdict) { if verdict.heldBy == nil { answered(.held) } }

    /// Marks a step's work as dropped: the fault stays until any answer of the dependency.
    ///
    /// If the worker uses a dependency only for records, the dependency no longer counts as failing.
    func dropped(_ step: FaultStep) {
        failing.withLock { failing in
            let dependency = failing[step]?.dependency ?? condition(step)
            failing[step]?.isRepeated = false
            guard step == .held || !Self.probed.contains(dependency) else { return }
            failing[step] = nil
            show(failing, [dependency])
        }
    }

    /// The dependencies that are probed at intervals while a fault of theirs is recorded.
    private static let probed: Set = [HealthCondition.broker, .database]

    func isFailing(_ step: FaultStep) -> Bool { failing.withLock { $0[step] != nil } }

    func isFailing(_ dependency: HealthCondition) -> Bool {
        failing.withLock { $0.values.contains { $0.dependency == dependency } }
    }

    /// Ends the step's fault, and the faults of its dependency that no step repeats.
    private func answered(_ step: FaultStep) {
        let dependency = condition(step)
        let ended = failing.withLock { failing in
            let ended = failing.filter { other, fault in
                other == step || step.isEvidence && fault.dependency == dependency && !fault.isRepeated
            }
            ended.keys.forEach { failing[$0] = nil }
            show(failing, [dependency] + ended.values.map(\.dependency))
            return ended
        }
        for (step, fault) in ended {
            log.notice(
                "dependency available again",
                ["step": .string(step.rawValue), "lasted_seconds": .seconds(.now - fault.since)])
        }
    }

    /// Shows the faults of these dependencies; a dependency without a fault is ready.
    private func show(_ failing: [FaultStep: Fault], _ dependencies: [HealthCondition]) {
        for dependency in Set(dependencies) {
            let causes = failing.values.filter { $0.dependency == dependency }.map(\.cause)
            metrics.show(failing: Set(causes), dependency)
            if causes.isEmpty { health.ready(dependency) }
        }
    }

    /// Returns the health condition that a fault of this step makes false, unless the error names another.
    private func condition(_ step: FaultStep, _ error: (any Error)? = nil) -> HealthCondition {
        if let named = (error as? any CausedFault)?.dependency, health.conditions.contains(named) { return named }
        return switch step {
        case .probe, .process, .acknowledge, .upkeep, .held: dependency
        case .outbox, .events: outboxes
        case .deliver, .commit, .offsets, .connection, .publish: .broker
        }
    }
}
