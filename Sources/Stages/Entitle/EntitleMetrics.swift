import Entitlements
package import Worker

/// What `entitle-worker` counts beyond what every worker does.
package final class EntitleMetrics: Sendable {
    private let notifications: MetricFamily<Counter>
    private let unknownProducts: Counter
    private let unknownTypes: Counter
    private let changes: Counter
    private let reprojectedPurchases: Counter
    private let incompleteRecords: Counter
    private let unwritableRecords: Counter
    private let refusals: MetricFamily<Counter>
    private let waitingChanges: Gauge
    private let oldestWaiting: Gauge

    package init(_ registry: MetricsRegistry) {
        notifications = registry.counter(
            "entitle_notifications",
            "Notifications recorded, by what they mean here; unknown ones want attention.",
            labels: ["meaning"]
        )
        // What begins at 1 has not risen: an alert would pass over the first of its kind.
        for meaning in NotificationMeaning.allCases {
            notifications[meaning.rawValue].increment(by: 0)
        }
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
        incompleteRecords =
            registry.counter(
                "feed_incomplete_records",
                "Records of the feed that leave out what did not fit, and say so."
            )[]
        unwritableRecords =
            registry.counter(
                "feed_unwritable_records",
                "Records of the feed that nobody is told of: their user's ID alone is too long."
            )[]
        refusals = registry.counter(
            "entitle_refused_items",
            "What the database refuses in work without a record, and is passed over, by the work.",
            labels: ["work"]
        )
        for work in RefusedWork.allCases {
            refusals[work.rawValue].increment(by: 0)
        }
        waitingChanges =
            registry.gauge(
                "feed_waiting_changes",
                "Changes that are committed and not published yet, at most."
            )[]
        oldestWaiting =
            registry.gauge(
                "feed_oldest_waiting_seconds",
                "How long the oldest unpublished change has waited; 0 where none waits."
            )[]
    }

    /// Work that no record asks for.
    enum RefusedWork: String, CaseIterable {
        case catalog, feed
    }

    func refused(_ work: RefusedWork) {
        refusals[work.rawValue].increment()
    }

    func reprojected(_ count: Int, _ batch: SettledBatch) {
        reprojectedPurchases.increment(by: count)
        changes.increment(by: batch.changes)
    }

    func published(_ written: FeedRecords) {
        incompleteRecords.increment(by: written.incompleteCount)
        unwritableRecords.increment(by: written.unwritableCount)
    }

    func waiting(changes: Int64, oldestSeconds: Double) {
        waitingChanges.set(Double(changes))
        oldestWaiting.set(oldestSeconds)
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
