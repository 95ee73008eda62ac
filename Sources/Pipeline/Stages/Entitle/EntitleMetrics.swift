import Entitlements
import Store
package import Telemetry

/// The metrics that only `entitle-worker` has.
package final class EntitleMetrics: Sendable {
    private let notifications: MetricFamily<Counter>
    private let unknownProducts: Counter
    private let unknownTypes: Counter
    private let purchasersTokens: Counter
    private let changes: Counter
    private let reprojectedPurchases: Counter
    private let incompleteRecords: Counter
    private let unwritableRecords: Counter
    private let refusals: MetricFamily<Counter>
    private let waitingChanges: Gauge
    private let oldestWaiting: Gauge
    private let boundaryDelay: Gauge

    package init(_ registry: MetricsRegistry) {
        notifications = registry.counter(
            "entitle_notifications", "Notifications recorded, by meaning; an unknown one needs attention.",
            labels: ["meaning"])
        // Create the counters with 0: one that first appears with 1 shows no increase, and an alert
        // would miss it.
        for meaning in NotificationMeaning.allCases { notifications[meaning.rawValue].increment(by: 0) }
        unknownProducts =
            registry.counter("entitle_unknown_products", "Transactions of a product that the catalog does not know.")[]
        unknownTypes =
            registry.counter(
                "entitle_unknown_product_types",
                "Transactions of an unknown type and without an end; they grant nothing.")[]
        purchasersTokens =
            registry.counter(
                "entitle_seats_with_purchasers_token",
                "ASSIGNED transactions with the account token of a PURCHASED one of the same product.")[]
        changes = registry.counter("entitle_changes", "Entitlement changes.")[]
        reprojectedPurchases =
            registry.counter("entitle_reprojected_purchases", "Purchases projected again after a catalog change.")[]
        incompleteRecords =
            registry.counter("feed_incomplete_records", "Feed records that omit what did not fit; each says so.")[]
        unwritableRecords =
            registry.counter("feed_unwritable_records", "Feed records not published: the user ID alone is too long.")[]
        refusals = registry.counter(
            "entitle_refused_items", "Items rejected by the database outside of batches and skipped, by task.",
            labels: ["work"])
        for work in RefusedWork.allCases { refusals[work.rawValue].increment(by: 0) }
        waitingChanges =
            registry.gauge("feed_waiting_changes", "Upper bound of the changes committed and not yet published.")[]
        oldestWaiting =
            registry.gauge("feed_oldest_waiting_seconds", "Age of the oldest unpublished change; 0 if none waits.")[]
        boundaryDelay =
            registry.gauge(
                "boundary_delay_seconds",
                "Time since the oldest unannounced begin or end of a period; 0 if none is due.")[]
    }

    /// Work that no record caused.
    enum RefusedWork: String, CaseIterable { case catalog, feed }

    func refused(_ work: RefusedWork) { refusals[work.rawValue].increment() }

    func reprojected(_ count: Int, _ batch: SettledBatch) {
        reprojectedPurchases.increment(by: count)
        changes.increment(by: batch.changes)
    }

    func published(_ written: FeedRecords) {
        incompleteRecords.increment(by: written.incompleteCount)
        unwritableRecords.increment(by: written.unwritableCount)
    }

    func waiting(_ backlog: OutboxTable.Backlog) {
        waitingChanges.set(Double(backlog.count))
        oldestWaiting.set(backlog.oldestSeconds)
        boundaryDelay.set(backlog.boundaryDelaySeconds)
    }

    func settled(_ batch: SettledBatch) {
        for meaning in batch.notifications { notifications[meaning.rawValue].increment() }
        unknownProducts.increment(by: batch.unknownProducts)
        unknownTypes.increment(by: batch.unknownTypes)
        purchasersTokens.increment(by: batch.purchasersTokens)
        changes.increment(by: batch.changes)
    }
}
