import AppStore
import AppStoreServer
import Derivation
import Postgres
import Settings
import Store
import Telemetry
import Worker

/// The recovery jobs of one app: reads Apple's data, and publishes what the pipeline lacks.
struct AppRecovery: Sendable {
    let access: APIAccess
    let client: PostgresClient
    let plan: RecoveryPlan
    let metrics: RecoveryMetrics
    let log: Log
    let catalogs = CatalogStore()

    var app: RecoveredApp { access.app }
    var api: AppStoreServerAPI { access.api }
    var isReplying: Bool { access.replies.consented != .never }

    /// Works until nothing of a kind is due, its endpoint fails, or Apple asks for a pause.
    @concurrent func work(_ kind: RecoveryWork.Kind, _ deliver: @escaping OutboxDelivery) async throws {
        do {
            if let job = kind.job {
                try await readHistory(job, deliver)
            } else if let questions = RecoveryRequestTable.Kind(rawValue: kind.rawValue) {
                try await answerRequests(questions, deliver)
            }
        } catch let failure as APIFailure {
            guard case .retry(let instant?) = failure.action else { throw failure }
            try await hold(RecoveryEndpoint(app: app, kind: kind), until: instant)
        }
    }

    /// Pauses an endpoint until the instant that Apple has named.
    private func hold(_ endpoint: RecoveryEndpoint, until: Timestamp) async throws {
        let isNew = try await !client.run(RecoveryLimitTable.hold, .init(endpoint, until: until)).isEmpty
        guard isNew, until > Timestamp.now.after(RecoveryPlan.longHold) else { return }
        log.warning(
            "Apple asks to wait for hours; `pipeline recover apple --lift` ends the wait",
            [
                "app.environment": .string(app.environment.rawValue), "app.bundle_id": .string(app.bundleID.text),
                "recovery.endpoint": .string(endpoint.name), "until": .string("\(until)"),
            ])
    }
}
