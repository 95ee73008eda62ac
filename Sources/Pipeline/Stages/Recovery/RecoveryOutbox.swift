import AppStore
package import AppStoreServer
import Postgres
import Store
package import Worker

/// The work of `recovery-worker` without a record: its jobs about all apps, side by side.
///
/// One copy of the worker works at a time, under a session lock that it keeps: another takes over
/// as soon as the server misses it, and finds the cursors in the tables.
actor RecoveryOutbox: Outbox {
    private struct Refusal {
        let failure: APIFailure
        /// When Apple is asked again, unless the key is replaced before.
        let until: ContinuousClock.Instant
    }

    private let apps: [AppRecovery]
    private let finishes: Bool
    private let standing: StandingConnection
    private let metrics: RecoveryMetrics
    private var isAlone = false
    /// Whether to look at once.
    private var isDue = true
    private var refusals: [RecoveredApp: Refusal] = [:]

    private var shownAt: ContinuousClock.Instant?

    private static let interval = Duration.seconds(1)
    /// Counting a million open notifications takes a tenth of a second.
    private static let metricsInterval = Duration.seconds(5)
    private static let refusalDelay = Duration.seconds(600)

    /// - Parameter finishes: whether purchases are finished at Apple.
    init(_ apps: [AppRecovery], finishes: Bool, client: PostgresClient, metrics: RecoveryMetrics) {
        self.apps = apps
        self.finishes = finishes
        standing = StandingConnection(client)
        self.metrics = metrics
    }

    func waitForWork() async throws {
        try await using { connection in
            guard !isDue else {
                isDue = false
                return
            }
            _ = try await connection.notifications(deadline: Self.interval)
        }
    }

    func empty(_ deliver: @escaping OutboxDelivery) async throws {
        try await using { try await prepare($0) }
        guard isAlone else { return }
        let ready = apps.filter { app in
            if app.access.refresh(app.log) { refusals[app.app] = nil }
            return refusals[app.app].map { $0.until < .now } ?? true
        }
        let results = await withTaskGroup { group in
            for app in ready {
                group.addTask { (app.app, await app.result(deliver)) }
            }
            return await group.reduce(into: [RecoveredApp: Result<Bool, any Error>]()) {
                $0[$1.0] = $1.1
            }
        }
        try conclude(results)
    }

    func close() async {
        await standing.close()
    }
}

extension RecoveryOutbox {
    /// Takes the lock unless another copy holds it, sets the apps and at times shows the state
    /// of all.
    private func prepare(_ connection: PostgresConnection) async throws {
        if !isAlone, try await connection.run(SessionLock.recovery.acquire)[0] {
            _ = try await connection.run(
                RecoveryWindowTable.configure,
                (apps.map(\.app), finishes, .now)
            )
            isAlone = true
        }
        guard shownAt.map({ .now - $0 >= Self.metricsInterval }) ?? true else { return }
        shownAt = .now
        var pipeline = Pipeline()
        let open = pipeline.add(AppleAccountTable.open)
        let states = pipeline.add(RecoveryWindowTable.states)
        let waiting = pipeline.add(RecoveryRequestTable.waiting)
        let answers = try await connection.run(pipeline)
        metrics.show(answers[open][0], Array(answers[states]), Array(answers[waiting]))
    }

    /// Throws the first fault of all: each app has had its turn.
    private func conclude(_ results: [RecoveredApp: Result<Bool, any Error>]) throws {
        for (app, result) in results {
            switch result {
            case .success(let hasMore):
                refusals[app] = nil
                isDue = isDue || hasMore
            case .failure(let failure as APIFailure) where failure.cause == .refused:
                refusals[app] = Refusal(failure: failure, until: .now + Self.refusalDelay)
            case .failure:
                break
            }
        }
        for case .failure(let error) in results.values { throw error }
        if let refusal = refusals.values.first { throw refusal.failure }
    }

    /// Lends the connection that holds the lock.
    private func using(_ body: (PostgresConnection) async throws -> Void) async throws {
        try await standing.use { _ in
            (isAlone, isDue) = (false, true)
        } _: {
            try await body($0)
        }
    }
}

extension AppRecovery {
    fileprivate func result(_ deliver: OutboxDelivery) async -> Result<Bool, any Error> {
        do {
            return .success(try await work(deliver))
        } catch {
            return .failure(error)
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
