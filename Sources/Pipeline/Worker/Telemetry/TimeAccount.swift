import Synchronization
import Telemetry

/// An account of a worker's time, in which each moment counts for one activity.
///
/// The seconds of all activities add up to the time for which the account is kept. A worker does
/// several things at once: while one batch is processed, the one before it waits for its
/// acknowledgement. A moment counts for the first running activity in the order of `Activity`,
/// which is the one that the next batch waits for.
package final class TimeAccount: Sendable {
    /// An activity of a worker; also the label `activity`.
    package enum Activity: Int, CaseIterable, Sendable {
        /// A batch waits for the database, or for a connection to it.
        case database
        /// A batch is processed by this worker.
        case process
        /// Something failed, or is not there yet, and is tried again after a while.
        case retry
        /// Outputs wait for the broker's acknowledgement.
        case acknowledgement
        /// Offsets are committed.
        case commit
        /// None of these: records are polled and waited for.
        case poll

        var label: String { "\(self)" }
    }

    private struct State {
        /// Number of times that each activity runs at this moment.
        var running = Array(repeating: 0, count: Activity.allCases.count)
        var seconds = Array(repeating: 0.0, count: Activity.allCases.count)
        var since: ContinuousClock.Instant

        var current: Activity { Activity.allCases.first { running[$0.rawValue] > 0 } ?? .poll }

        mutating func account(until now: ContinuousClock.Instant) {
            guard now > since else { return }
            seconds[current.rawValue] += (now - since) / .seconds(1)
            since = now
        }
    }

    /// The account of the batch that the present task works on; nil outside of a batch.
    @TaskLocal private static var ofBatch: TimeAccount?

    private let state: Mutex<State>

    init(now: ContinuousClock.Instant = .now) { state = Mutex(State(since: now)) }

    /// Declares the metric of this account.
    func declare(in registry: MetricsRegistry) {
        let family = registry.secondsCounter(
            "time_seconds", "Time by activity, each moment counted once: what the next batch waits for.",
            labels: ["activity"])
        registry.beforeExposition { [self] in for (activity, sum) in seconds() { family[activity.label].set(sum) } }
    }

    /// The seconds of each activity up to now.
    func seconds(now: ContinuousClock.Instant = .now) -> [Activity: Double] {
        state.withLock { state in
            state.account(until: now)
            return Dictionary(uniqueKeysWithValues: Activity.allCases.map { ($0, state.seconds[$0.rawValue]) })
        }
    }

    func begin(_ activity: Activity, now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            state.account(until: now)
            state.running[activity.rawValue] += 1
        }
    }

    func end(_ activity: Activity, now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            precondition(state.running[activity.rawValue] > 0, "an activity ends that never began")
            state.account(until: now)
            state.running[activity.rawValue] -= 1
        }
    }

    /// Counts the time of `body` for an activity.
    func measure<T, Failure: Error>(_ activity: Activity, _ body: () async throws(Failure) -> T) async throws(Failure)
        -> T
    {
        begin(activity)
        defer { end(activity) }
        return try await body()
    }

    /// Counts the time of `body`, which works on a batch, as processing, and of it as time of the
    /// database what `databaseWait` reports.
    func measureBatch<T>(_ body: () async throws -> T) async throws -> T {
        try await measure(.process) { () async throws -> T in
            try await Self.$ofBatch.withValue(self) { try await body() }
        }
    }

    /// Reports that a call of the database begins or ends; it counts where the present task works
    /// on a batch.
    package static func databaseWait(hasBegun: Bool) {
        guard let account = ofBatch else { return }
        if hasBegun { account.begin(.database) } else { account.end(.database) }
    }
}
