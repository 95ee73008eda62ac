package import Worker

/// What `link-worker` shows beyond what every worker does.
package final class LinkMetrics: Sendable {
    private let waitingChanges: Gauge
    private let unownedPurchases: Gauge

    package init(_ registry: MetricsRegistry) {
        waitingChanges =
            registry.gauge(
                "link_waiting_changes",
                "Links written, changed or removed and not applied yet, at most."
            )[]
        unownedPurchases =
            registry.gauge(
                "link_unowned_purchases",
                "Purchases that nobody is linked to; counted up to 100,000."
            )[]
    }

    func show(waitingChanges: Int64, unownedPurchases: Int64?) {
        self.waitingChanges.set(waitingChanges)
        if let unownedPurchases {
            self.unownedPurchases.set(unownedPurchases)
        }
    }
}
