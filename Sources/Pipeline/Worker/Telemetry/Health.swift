package import HTTP
import JSON
import Synchronization
package import Telemetry

package struct HealthCondition: Hashable, Sendable {
    /// A single word, as used by readiness and its metric.
    package let name: String

    package init(_ name: String) { self.name = name }

    /// The worker reads partitions, or its balanced consumer group has no partition for it.
    package static let assigned = HealthCondition("assigned")
    package static let broker = HealthCondition("broker")
    /// The database answers requests.
    package static let database = HealthCondition("database")
    /// The breaker against wrong settings has not tripped.
    package static let breaker = HealthCondition("breaker")
}

/// The liveness and readiness of a worker, as its loop reports them.
package final class Health: Sendable {
    private struct State {
        var lastProgress: ContinuousClock.Instant
        /// The reasons why conditions do not hold; a condition without a reason holds.
        var reasons: [HealthCondition: String]
    }

    package let conditions: [HealthCondition]

    /// Maximum time without a turn of the loop before the worker counts as stuck.
    package let stallMax: Duration

    private let state: Mutex<State>

    /// Makes the health of a starting worker: alive, but not ready.
    package init(conditions: [HealthCondition], stallMax: Duration, now: ContinuousClock.Instant = .now) {
        self.conditions = conditions
        self.stallMax = stallMax
        let reasons = conditions.map { ($0, "not checked yet") }
        state = Mutex(State(lastProgress: now, reasons: Dictionary(reasons, uniquingKeysWith: { first, _ in first })))
    }

    /// Stores the time of a turn of the loop; the loop calls this at every turn, also while it waits for a broker or a
    /// database.
    package func progressed(at now: ContinuousClock.Instant = .now) { state.withLock { $0.lastProgress = now } }

    package func isAlive(at now: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { now - $0.lastProgress <= stallMax }
    }

    /// Marks a condition as holding; true if it did not hold before.
    @discardableResult package func ready(_ condition: HealthCondition) -> Bool { update(condition, reason: nil) }

    /// Marks a condition as not holding; true if it held before, or failed for another reason.
    ///
    /// - Parameter reason: a text for people, which never contains a token or a password.
    @discardableResult package func notReady(_ condition: HealthCondition, _ reason: String) -> Bool {
        update(condition, reason: reason)
    }

    package var isReady: Bool { state.withLock { $0.reasons.isEmpty } }

    /// Returns the reason why a condition does not hold.
    ///
    /// `nil` if the condition holds.
    package func reason(_ condition: HealthCondition) -> String? { state.withLock { $0.reasons[condition] } }

    private func update(_ condition: HealthCondition, reason: String?) -> Bool {
        precondition(conditions.contains(condition), "this worker has no condition \(condition.name)")
        return state.withLock { state in
            guard state.reasons[condition] != reason else { return false }
            state.reasons[condition] = reason
            return true
        }
    }
}

/// The HTTP routes of a worker: `/livez`, `/readyz` and `/metrics`.
package enum HealthRoutes {
    package static func routes(health: Health, metrics: MetricsRegistry) -> [HTTPRoute] {
        let isReady = metrics.gauge(
            "worker_ready_state", "1 while the condition holds, 0 while it does not.", labels: ["condition"])
        metrics.beforeExposition {
            for condition in health.conditions { isReady[condition.name].set(health.reason(condition) == nil ? 1 : 0) }
        }
        return [
            HTTPRoute(.get, "/livez") { _ in
                health.isAlive() ? .text("ok\n") : .text("the loop has made no progress for a while\n", status: 503)
            }, HTTPRoute(.get, "/readyz") { _ in readiness(health) },
            HTTPRoute(.get, "/metrics") { _ in
                HTTPResponse(contentType: "text/plain; version=0.0.4; charset=utf-8", body: metrics.exposition())
            },
        ]
    }

    private static func readiness(_ health: Health) -> HTTPResponse {
        let reasons = health.conditions.map { ($0, health.reason($0)) }
        let isReady = reasons.allSatisfy { $0.1 == nil }
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("ready")
            writer.bool(isReady)
            writer.key("conditions")
            writer.object { writer in
                for (condition, reason) in reasons {
                    writer.key(condition.name)
                    writer.string(reason ?? "ok")
                }
            }
        }
        return .json(writer.bytes + [UInt8(ascii: "\n")], status: isReady ? 200 : 503)
    }
}
