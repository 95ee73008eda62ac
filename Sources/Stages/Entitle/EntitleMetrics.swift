import Entitlements
package import Worker

/// What `entitle-worker` counts beyond what every worker does.
package final class EntitleMetrics: Sendable {
    private let notifications: MetricFamily<Counter>
    private let unknownProducts: Counter
    private let unknownTypes: Counter
    private let changes: Counter
    private let reprojectedPurchases: Counter

    package init(_ registry: MetricsRegistry) {
        notifications = registry.counter(
            "entitle_notifications",
            "Notifications recorded, by what they mean here; unknown ones want attention.",
            labels: ["meaning"]
        )
        unknownProducts =
            registry.counter(
                "entitle_unknown_products",
                "Transactions of a product that the catalog does not know."
            )[]
        unknownTypes =
            registry.counter(
                "entitle_unknown_product_types",
                "Transactions of a type that nobody knows: they grant nothing until it is known."
            )[]
        changes =
            registry.counter(
                "entitle_changes",
                "Changes of what a user may use."
            )[]
        reprojectedPurchases =
            registry.counter(
                "entitle_reprojected_purchases",
                "Purchases projected anew because another catalog was applied."
            )[]
    }

    func reprojected(_ count: Int, _ batch: SettledBatch) {
        reprojectedPurchases.increment(by: count)
        changes.increment(by: batch.changes)
    }

    func settled(_ batch: SettledBatch) {
        for meaning in batch.notifications {
            notifications[meaning.rawValue].increment()
        }
        unknownProducts.increment(by: batch.unknownProducts)
        unknownTypes.increment(by: batch.unknownTypes)
        changes.increment(by: batch.changes)
    }
}
