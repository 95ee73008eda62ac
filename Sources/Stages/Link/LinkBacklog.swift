import Postgres

/// Says now and then how much of linking is left to do, whichever copy does it.
struct LinkBacklog {
    private let metrics: LinkMetrics
    private var changesReadAt: ContinuousClock.Instant?
    private var purchasesCountedAt: ContinuousClock.Instant?

    private static let changesInterval = Duration.seconds(5)
    /// Counting costs more than looking at the ends of a queue.
    private static let purchasesInterval = Duration.seconds(60)

    init(_ metrics: LinkMetrics) {
        self.metrics = metrics
    }

    mutating func read(_ connection: PostgresConnection) async throws {
        let now = ContinuousClock.now
        guard Self.isDue(changesReadAt, Self.changesInterval, now) else { return }
        let isCounting = Self.isDue(purchasesCountedAt, Self.purchasesInterval, now)
        let answers = try await connection.pipeline(
            [Self.changes] + (isCounting ? [Self.purchases] : [])
        )
        metrics.show(
            waitingChanges: answers[0][0].int8(0),
            purchases: isCounting ? PurchaseBacklog(answers[1][0]) : nil
        )
        changesReadAt = now
        purchasesCountedAt = isCounting ? now : purchasesCountedAt
    }

    private static func isDue(
        _ last: ContinuousClock.Instant?,
        _ interval: Duration,
        _ now: ContinuousClock.Instant
    ) -> Bool {
        last.map { now - $0 >= interval } ?? true
    }

    private static let changes = PostgresStatement(
        """
        SELECT count(*) FROM (
            SELECT FROM account_link_changes WHERE due_at <= now() LIMIT 100000
        ) AS waiting
        """
    )
    private static let purchases = PostgresStatement(
        """
        SELECT
            (SELECT count(*) FROM (
                SELECT FROM owners WHERE user_id IS NULL LIMIT 100000
            ) AS unowned),
            count(*),
            coalesce(extract(epoch FROM now() - min(changed_at)), 0)::float8
        FROM (SELECT changed_at FROM owner_changes LIMIT 100000) AS waiting
        """
    )
}

/// What is left to do about purchases.
struct PurchaseBacklog {
    let unownedCount: Int64
    /// Those whose owner has changed and that have not been projected since.
    let unprojectedCount: Int64
    let oldestUnprojectedSeconds: Double

    /// The columns of the question.
    init(_ row: PostgresRow) {
        unownedCount = row.int8(0)
        unprojectedCount = row.int8(1)
        oldestUnprojectedSeconds = row.float8(2)
    }
}
