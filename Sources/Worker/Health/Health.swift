import Synchronization

/// Whether a worker lives and is ready, as its loop tells it.
package final class Health: Sendable {
    private struct State {
        var lastProgress: ContinuousClock.Instant
        /// Why a condition does not hold; absent when it does.
        var reasons: [HealthCondition: String]
    }

    /// The conditions that this worker has.
    package let conditions: [HealthCondition]

    /// How long the loop may go without a turn before the worker counts as stuck.
    package let stallMax: Duration

    private let state: Mutex<State>

    /// Makes the health of a worker that is starting: alive, and not ready.
    package init(
        conditions: [HealthCondition],
        stallMax: Duration,
        now: ContinuousClock.Instant = .now
    ) {
        self.conditions = conditions
        self.stallMax = stallMax
        let reasons = conditions.map { ($0, "not asked yet") }
        state = Mutex(
            State(
                lastProgress: now,
                reasons: Dictionary(reasons, uniquingKeysWith: { first, _ in first })
            )
        )
    }

    /// Told by the loop at every turn, also while it waits for a broker or a database.
    package func progressed(at now: ContinuousClock.Instant = .now) {
        state.withLock { $0.lastProgress = now }
    }

    package func isAlive(at now: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { now - $0.lastProgress <= stallMax }
    }

    /// Marks a condition as holding; true when it did not before.
    @discardableResult
    package func ready(_ condition: HealthCondition) -> Bool {
        update(condition, reason: nil)
    }

    /// Marks a condition as not holding; true when it did before, or for another reason.
    ///
    /// - Parameter reason: for people; never holds a token or a password.
    @discardableResult
    package func notReady(_ condition: HealthCondition, _ reason: String) -> Bool {
        update(condition, reason: reason)
    }

    package var isReady: Bool {
        state.withLock { $0.reasons.isEmpty }
    }

    /// Why a condition does not hold; nil when it does.
    package func reason(_ condition: HealthCondition) -> String? {
        state.withLock { $0.reasons[condition] }
    }

    private func update(_ condition: HealthCondition, reason: String?) -> Bool {
        precondition(
            conditions.contains(condition),
            "this worker has no condition \(condition.name)"
        )
        return state.withLock { state in
            guard state.reasons[condition] != reason else { return false }
            state.reasons[condition] = reason
            return true
        }
    }
}
