import Synchronization
import Telemetry

/// An account of a worker's time, in which each moment counts for one activity.
///
/// The seconds of all activities add up to the account's total time. A worker does several things at once: while one
/// batch is processed, the previous batch waits for its acknowledgement. A moment counts for the first running
/// activity in the order of `Activity`, which is the activity that the next batch waits for.
package final class TimeAccount: Sendable {
    /// An activity of a worker; also the label `activity`.
    package enum Activity: Int, CaseIterable, Sendable {
        /// A batch waits for the database, or for a connection to it.
        case database
        /// A batch is processed by this worker.
        case process
        /// A failed or missing dependency is retried after a delay.
        case retry
        /// Outputs wait for the broker's acknowledgement.
        case acknowledgement
        /// Offsets are committed.
        case commit
        /// None of the other activities runs: the worker polls or waits for records.
        case poll

        var label: String { "\(self)" }
    }

    private struct State {
        /// Number of times that each activity is running now.
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

    /// The account of the current task's batch; `nil` outside of a batch.
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

    /// Returns the seconds of each activity until now.
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

    /// Runs `body` and counts its time for an activity.
    func measure<T, Failure: Error>(_ activity: Activity, _ body: () async throws(Failure) -> T) async throws(Failure)
        -> T
    {
        begin(activity)
        defer { end(activity) }
        return try await body()
    }

    /// Runs `body`, which works on a batch, and counts its time as processing, except the database time that
    /// `databaseWait` reports.
    func measureBatch<T>(_ body: () async throws -> T) async throws -> T {
        try await measure(.process) { () async throws -> T in
            try await Self.$ofBatch.withValue(self) { try await body() }
        }
    }

    /// Reports that a call of the database begins or ends; the call counts only if the current task works on a batch.
    package static func databaseWait(hasBegun: Bool) {
        guard let account = ofBatch else { return }
        if hasBegun { account.begin(.database) } else { account.end(.database) }
    }
}
