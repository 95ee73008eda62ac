import AppStore
import AppStoreServer
import Store
package import Telemetry
import Worker

extension RecoveryRequestTable.Kind {
    var endpoint: APIEndpoint {
        switch self {
        case .subscriptions: .subscriptionStatuses
        case .transactions: .transactionHistory
        case .refunds: .refundHistory
        case .order: .orderLookup
        case .finish: .finish
        case .accountToken: .accountToken
        case .consumption: .consumption
        }
    }
}

extension RecoveryWork.Kind {
    var apiEndpoint: APIEndpoint { RecoveryRequestTable.Kind(rawValue: rawValue)?.endpoint ?? .notificationHistory }
}

/// The metrics that only `recovery-worker` has.
///
/// No label is called `job`, because Prometheus adds a label of this name.
package struct RecoveryMetrics: Sendable {
    private let requests: MetricFamily<Counter>
    private let records: MetricFamily<Counter>
    private let attempts: MetricFamily<Counter>
    private let entries: MetricFamily<Counter>
    private let open: MetricFamily<Gauge>
    private let oldest: MetricFamily<Gauge>
    private let completed: MetricFamily<Gauge>
    private let progress: MetricFamily<Gauge>
    private let waiting: MetricFamily<Gauge>
    private let unfinished: MetricFamily<Gauge>
    private let hold: MetricFamily<Gauge>
    private let refunds: MetricFamily<Gauge>

    package init(_ registry: MetricsRegistry) {
        requests = registry.counter(
            "recovery_requests", "Requests to Apple's server, by endpoint and result.", labels: ["endpoint", "result"])
        records = registry.counter(
            "recovery_published_records", "Records that were missing and are published, by the job that found them.",
            labels: ["work"])
        attempts = registry.counter(
            "recovery_send_attempts", "Apple's attempts to deliver a notification, by Apple's result.",
            labels: ["result"])
        entries = registry.counter(
            "recovery_unreadable_entries",
            "Entries of Apple's lists without a notification in them, which are left out.")
        open = registry.gauge(
            "recovery_open_notifications", "Notifications that Apple lists and that are not held yet.")
        oldest = registry.gauge("recovery_oldest_open_seconds", "Age of the oldest of them; 0 without one.")
        completed = registry.gauge(
            "recovery_completed_timestamp_seconds",
            "When an app's notification history was last read to its end, in UNIX time.",
            labels: ["environment", "bundle_id", "work"])
        progress = registry.gauge(
            "recovery_progress_ratio", "Share of the window that the present run has read; 1 between runs.",
            labels: ["environment", "bundle_id", "work"])
        waiting = registry.gauge(
            "recovery_waiting_requests",
            "Questions and messages about single purchases that Apple has not answered, by kind.", labels: ["kind"])
        unfinished = registry.gauge(
            "recovery_unfinished_requests", "Questions of the last days that Apple has refused for good, by kind.",
            labels: ["kind"])
        hold = registry.gauge(
            "recovery_hold_seconds", "For how long Apple has asked not to be asked, by app and endpoint.",
            labels: ["environment", "bundle_id", "endpoint"])
        refunds = registry.gauge(
            "recovery_refund_requests",
            "Apple's refund requests whose deadline comes or was within the last day, by outcome.", labels: ["result"])
        for job in RecoveryWindowTable.Job.allCases { records[job.rawValue].increment(by: 0) }
        entries.increment(by: 0)
        // Create the counters with 0, otherwise a rate would miss the first increment.
        for result in Self.results { attempts[result].increment(by: 0) }
    }

    func answered(_ endpoint: APIEndpoint) { requests[endpoint.rawValue, "ok"].increment() }

    func failed(_ failure: APIFailure) {
        guard !failure.isCancelled else { return }
        let result =
            switch failure.action {
            case .retry(let instant): instant == nil ? "failed" : "throttled"
            case .restart: "expired"
            case .notFound: "not_found"
            case .refused, .stop: "refused"
            }
        requests[failure.endpoint.rawValue, result].increment()
    }

    func published(_ job: String, _ count: Int) { records[job].increment(by: count) }

    func unreadable(_ count: Int) { entries.increment(by: count) }

    /// Counts the attempts of notifications that are listed for the first time.
    func listed(_ notifications: [ListedNotification]) {
        for attempt in notifications.flatMap(\.sendAttempts) {
            let result = attempt.result?.text ?? ""
            attempts[Self.results.contains(result) ? result : Self.otherResult].increment()
        }
    }

    /// Apple's values of `sendAttemptResult`.
    private static let results = [
        "SUCCESS", "TIMED_OUT", "TLS_ISSUE", "CIRCULAR_REDIRECT", "NO_RESPONSE", "SOCKET_ISSUE", "UNSUPPORTED_CHARSET",
        "INVALID_RESPONSE", "PREMATURE_CLOSE", "UNSUCCESSFUL_HTTP_RESPONSE_CODE", otherResult,
    ]
    private static let otherResult = "OTHER"

    func show(
        _ open: AppleAccountTable.Open, states: [RecoveryWindowTable.State],
        questions: [(kind: String, waiting: Int64, unfinished: Int64)]
    ) {
        self.open.set(open.count)
        oldest.set(open.oldestSeconds)
        for state in states {
            let app = (state.app.environment.rawValue, state.app.bundleID.text)
            progress[app.0, app.1, state.job.rawValue].set(state.progress)
            if let instant = state.completedAt {
                completed[app.0, app.1, state.job.rawValue].set(Double(instant.milliseconds) / 1000)
            }
        }
        for kind in RecoveryRequestTable.Kind.allCases {
            let count = questions.first { $0.kind == kind.rawValue }
            waiting[kind.rawValue].set(count?.waiting ?? 0)
            unfinished[kind.rawValue].set(count?.unfinished ?? 0)
        }
    }

    func show(refunds counts: [(outcome: String, count: Int64)]) {
        for outcome in RefundRequestTable.Outcome.allCases.map(\.rawValue) + ["waiting"] {
            refunds[outcome].set(counts.first { $0.outcome == outcome }?.count ?? 0)
        }
    }

    /// Shows these apps' pauses that Apple has asked for.
    func show(_ limits: [RecoveryLimitTable.Limit], of apps: [RecoveredApp], at now: Timestamp) {
        let times = Dictionary(limits.map { ($0.endpoint, $0.until) }, uniquingKeysWith: max)
        for endpoint in apps.flatMap(RecoveryEndpoint.all(of:)) {
            let app = endpoint.app
            let time = times[endpoint] ?? now
            hold[app.environment.rawValue, app.bundleID.text, endpoint.name].set(
                Double(time.milliseconds - now.milliseconds) / 1000)
        }
    }
}
