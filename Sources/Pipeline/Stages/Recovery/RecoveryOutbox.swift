import AppStore
package import AppStoreServer
import Platform
import Postgres
import Store
package import Worker

/// The work of `recovery-worker` that no record caused: the jobs of all apps.
///
/// Each endpoint of an app has its own tasks and its own delay after a failure, so an endpoint that
/// hangs or fails affects no other.
///
/// A single copy of the worker does this at a time and holds a session lock. Another copy takes
/// over as soon as the server drops that connection, and finds the cursors in the tables.
actor RecoveryOutbox: Outbox {
    /// The state of an endpoint whose last request failed.
    private struct Fault {
        let error: any Error
        /// Instant of the next request to the endpoint; a replaced key allows an earlier one.
        let until: ContinuousClock.Instant
        let delay: Duration
    }

    private let apps: [RecoveredApp: AppRecovery]
    private let finishes: Bool
    private let standing: StandingConnection
    private let metrics: RecoveryMetrics
    private var isAlone = false
    private var tasks: [RecoveryWork: Task<Void, Never>] = [:]
    private var faults: [RecoveryEndpoint: Fault] = [:]
    private var shownAt: ContinuousClock.Instant?

    private static let interval = Duration.seconds(1)
    /// Interval of the metrics: counting a million open notifications takes 0.1 s.
    private static let metricsInterval = Duration.seconds(5)
    private static let delayMin = Duration.seconds(1)
    private static let delayMax = Duration.seconds(60)
    private static let refusalDelay = Duration.seconds(600)

    /// - Parameter finishes: whether the worker finishes purchases at Apple.
    init(_ apps: [AppRecovery], finishes: Bool, client: PostgresClient, metrics: RecoveryMetrics) {
        self.apps = Dictionary(apps.map { ($0.app, $0) }) { first, _ in first }
        self.finishes = finishes
        standing = StandingConnection(client)
        self.metrics = metrics
    }

    func waitForWork() async throws { try await using { _ = try await $0.notifications(deadline: Self.interval) } }

    /// Starts tasks for the due work, and returns without waiting for them.
    ///
    /// Throws if the last request to an endpoint failed.
    func empty(_ deliver: @escaping OutboxDelivery) async throws {
        var due: [RecoveryWork] = []
        try await using { due = try await prepare($0) }
        guard isAlone else { return }
        for app in apps.values where app.access.refresh(app.log) { faults = faults.filter { $0.key.app != app.app } }
        // Remove expired faults of endpoints that have no more work.
        let current = Set((due + tasks.keys).map(\.endpoint))
        faults = faults.filter { $0.value.until > .now || current.contains($0.key) }
        for work in due where tasks[work] == nil {
            guard faults[work.endpoint].map({ $0.until <= .now }) ?? true else { continue }
            begin(work, deliver)
        }
        try check()
    }

    /// Ends all tasks; their cursors stay behind the last acknowledged page.
    func close() async {
        await stop()
        await standing.close()
    }

    /// Waits until all tasks have ended.
    func settled() async { while let task = tasks.values.first { await task.value } }

    /// Throws the fault of an endpoint whose last request failed.
    func check() throws {
        // A fault of the database or the broker affects all endpoints.
        if let fault = faults.values.first(where: { !($0.error is APIFailure) }) { throw fault.error }
        if let fault = faults.values.first { throw PartialFault(fault.error) }
    }
}

extension RecoveryOutbox {
    private func begin(_ work: RecoveryWork, _ deliver: @escaping OutboxDelivery) {
        guard let app = apps[work.app] else { return }
        if !tasks.keys.contains(where: { $0.endpoint == work.endpoint }) {
            // The table decides how long Apple's pause lasts, because an operator may have ended it.
            app.api.release(work.kind.apiEndpoint)
        }
        let reporting: OutboxDelivery = { records in
            do { try await deliver(records) } catch {
                // The endpoint's other requests of this turn may not have ended yet.
                if !Task.isCancelled { await self.failed(work.endpoint, error) }
                throw error
            }
        }
        tasks[work] = Task {
            let result = await Result(of: { try await app.work(work.kind, reporting) })
            ended(work, result, isCancelled: Task.isCancelled)
        }
    }

    private func failed(_ endpoint: RecoveryEndpoint, _ error: any Error) {
        faults[endpoint] = Fault(error: error, until: .now, delay: .zero)
    }

    private func ended(_ work: RecoveryWork, _ result: Result<Void, any Error>, isCancelled: Bool) {
        tasks[work] = nil
        guard !isCancelled else { return }
        let former = faults.removeValue(forKey: work.endpoint)
        guard case .failure(let error) = result else { return }
        let failure = error as? APIFailure
        let delay =
            switch failure?.cause {
            // The loop delays every endpoint.
            case nil: Duration.zero
            case .refused?: Self.refusalDelay
            default: min(max(Self.delayMin, (former?.delay ?? .zero) * 2), Self.delayMax)
            }
        let fault = Fault(error: error, until: .now + delay, delay: delay)
        let endpoints = failure?.action == .stop ? RecoveryEndpoint.all(of: work.app) : [work.endpoint]
        for endpoint in endpoints { faults[endpoint] = fault }
    }

    private func stop() async {
        for task in tasks.values { task.cancel() }
        await settled()
        isAlone = false
    }

    /// Acquires the lock unless another copy holds it, stores the apps, and updates the metrics when due.
    ///
    /// - Returns: the work that is due.
    private func prepare(_ connection: PostgresConnection) async throws -> [RecoveryWork] {
        if !isAlone, try await connection.run(SessionLock.recovery.acquire)[0] {
            var pipeline = Pipeline()
            pipeline.add(
                RecoveryWindowTable.configure, (apps.map { (app: $0, isReplying: $1.isReplying) }, finishes, .now))
            let setters = apps.values.filter(\.access.setsAccountTokens)
            pipeline.add(RecoveryRequestTable.withdrawTokens, setters.map(\.app))
            _ = try await connection.run(pipeline)
            isAlone = true
        }
        var pipeline = Pipeline()
        let due = pipeline.add(RecoveryLimitTable.due, .now)
        guard shownAt.map({ .now - $0 >= Self.metricsInterval }) ?? true else {
            return Array(try await connection.run(pipeline)[due])
        }
        shownAt = .now
        let now = Timestamp.now
        let open = pipeline.add(AppleAccountTable.open)
        let states = pipeline.add(RecoveryWindowTable.states)
        let questions = pipeline.add(RecoveryRequestTable.counts)
        let limits = pipeline.add(RecoveryLimitTable.held, now)
        let refunds = pipeline.add(RefundRequestTable.counts, now)
        let answers = try await connection.run(pipeline)
        metrics.show(answers[open][0], states: Array(answers[states]), questions: Array(answers[questions]))
        metrics.show(refunds: Array(answers[refunds]))
        metrics.show(Array(answers[limits]), of: Array(apps.keys), at: now)
        return Array(answers[due])
    }

    /// Runs `body` on the connection that holds the lock; stops all tasks on an error.
    private func using(_ body: (PostgresConnection) async throws -> Void) async throws {
        do {
            try await standing.use { _ in
                isAlone = false
            } _: {
                try await body($0)
            }
        } catch {
            await stop()
            throw error
        }
    }
}

extension APIFailure: CausedFault {
    package var cause: FaultCause {
        switch action {
        case .retry(let instant): instant == nil ? .unreachable : .overloaded
        case .restart, .notFound: .other
        case .refused, .stop: .refused
        }
    }
}
