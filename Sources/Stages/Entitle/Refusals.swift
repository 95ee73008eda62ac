import AppStore
import Store
import Entitlements
import Postgres
import Worker

/// What PostgreSQL refuses in work that no record asks for: counted, named in the log, passed over.
struct Refusals: Sendable {
    let metrics: EntitleMetrics
    let log: Log?

    func passedOver(_ purchase: PurchaseScope, _ error: PostgresError) {
        metrics.refused(.catalog)
        log?.error(
            "purchase refused by the database, left as it was",
            [
                "transaction.original_id": .string(purchase.originalTransactionID.text),
                "transaction.environment": .string(purchase.environment.rawValue),
                "error": .string(error.recordFaultDetail),
            ]
        )
    }

    /// - Parameter change: its row in the outbox.
    func passedOver(change: Int64, _ error: PostgresError) {
        metrics.refused(.feed)
        log?.error(
            "change refused by the database, not published",
            ["change.id": .int(Int(change)), "error": .string(error.recordFaultDetail)]
        )
    }

    /// A user, who is not named in a log, is not noted for a repetition of the newest state.
    func passedOverRepetition(_ error: PostgresError) {
        metrics.refused(.feed)
        log?.error(
            "repetition of a user's state refused by the database, left out",
            ["error": .string(error.recordFaultDetail)]
        )
    }
}
