import Store
package import Telemetry

/// The metrics that only `link-worker` has.
package final class LinkMetrics: Sendable {
    private let waitingChanges: Gauge
    private let unownedPurchases: Gauge
    private let unprojectedPurchases: Gauge
    private let oldestUnprojected: Gauge
    private let contradictions: Counter
    private let leftOutUsers: Counter
    private let refusedPurchases: Counter

    package init(_ registry: MetricsRegistry) {
        waitingChanges =
            registry.gauge(
                "link_waiting_changes", "Links written, changed or removed and not applied yet; counted up to 100,000.")[]
        unownedPurchases =
            registry.gauge("link_unowned_purchases", "Purchases without an owner; counted up to 100,000.")[]
        unprojectedPurchases =
            registry.gauge(
                "link_unprojected_purchases",
                "Purchases whose owner changed and that are not projected since; counted up to 100,000.")[]
        refusedPurchases =
            registry.counter(
                "link_refused_purchases", "Owners rejected by the database after a link change; each is retried later.")[]
        contradictions =
            registry.counter(
                "link_contradicting_ingest_users",
                "Records that name a different user for a transaction than another record; the earliest counts.")[]
        leftOutUsers =
            registry.counter(
                "link_left_out_ingest_users",
                "Records that name one more user for a transaction than are kept; they count for nothing.")[]
        oldestUnprojected =
            registry.gauge(
                "link_oldest_unprojected_seconds",
                "Age of the oldest purchase that waits for its projection; 0 if none does.")[]
    }

    func refusedPurchase() { refusedPurchases.increment() }

    func contradicted(_ count: Int) { contradictions.increment(by: count) }

    func leftOut(_ count: Int) { leftOutUsers.increment(by: count) }

    /// - Parameter purchases: the counted purchases; `nil` if they were not counted.
    func show(waitingChanges: Int64, purchases: LinkBacklog.Purchases?) {
        self.waitingChanges.set(waitingChanges)
        guard let purchases else { return }
        unownedPurchases.set(purchases.unownedCount)
        unprojectedPurchases.set(purchases.unprojectedCount)
        oldestUnprojected.set(purchases.oldestUnprojectedSeconds)
    }
}
