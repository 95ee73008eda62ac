import Postgres
import Store

/// Reports the linking backlog at intervals, even if another copy works on it.
struct LinkBacklogMetrics {
    private let metrics: LinkMetrics
    private var changesReadAt: ContinuousClock.Instant?
    private var purchasesCountedAt: ContinuousClock.Instant?

    private static let changesInterval = Duration.seconds(5)
    /// Interval of counting purchases; long, because counting costs more than reading the ends of a queue.
    private static let purchasesInterval = Duration.seconds(60)

    init(_ metrics: LinkMetrics) { self.metrics = metrics }

    mutating func update(_ connection: PostgresConnection) async throws {
        let now = ContinuousClock.now
        guard Self.isDue(changesReadAt, every: Self.changesInterval, at: now) else { return }
        let isCounting = Self.isDue(purchasesCountedAt, every: Self.purchasesInterval, at: now)
        var pipeline = Pipeline()
        let changes = pipeline.add(LinkBacklog.changes)
        let purchases = isCounting ? pipeline.add(LinkBacklog.purchases) : nil
        let answers = try await connection.run(pipeline)
        metrics.show(waitingChanges: answers[changes][0], purchases: purchases.map { answers[$0][0] })
        changesReadAt = now
        purchasesCountedAt = isCounting ? now : purchasesCountedAt
    }

    private static func isDue(
        _ last: ContinuousClock.Instant?, every interval: Duration, at now: ContinuousClock.Instant
    ) -> Bool { last.map { now - $0 >= interval } ?? true }
}
