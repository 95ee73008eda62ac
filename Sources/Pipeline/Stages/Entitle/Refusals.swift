import AppStore
import Store
import Entitlements
import Postgres
import Telemetry

/// Counts, logs and skips rows that PostgreSQL rejects in work without a record.
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
            ])
    }

    /// - Parameter change: the change's ID in the outbox.
    func passedOver(change: Int64, _ error: PostgresError) {
        metrics.refused(.feed)
        log?.error(
            "change refused by the database, not published",
            ["change.id": .int(Int(change)), "error": .string(error.recordFaultDetail)])
    }

    /// Counts a user who cannot be marked for a repetition; the log does not name the user.
    func passedOverRepetition(_ error: PostgresError) {
        metrics.refused(.feed)
        log?.error(
            "repetition of a user's state refused by the database, left out",
            ["error": .string(error.recordFaultDetail)])
    }
}
