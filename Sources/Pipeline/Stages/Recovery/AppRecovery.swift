import AppStore
import AppStoreServer
import Postgres
import Records
import Store
import Telemetry
import Worker

/// The jobs about one app: reads what Apple has, and publishes what the pipeline lacks.
///
/// A cursor is moved after the broker has acknowledged what it passes: a page that is read twice is
/// published twice, which changes nothing.
struct AppRecovery: Sendable {
    let access: APIAccess
    let client: PostgresClient
    let plan: RecoveryPlan
    let metrics: RecoveryMetrics
    let log: Log

    var app: RecoveredApp { access.app }
    var api: AppStoreServerAPI { access.api }

    /// The length of a turn, after which the lock and the end of the worker are checked.
    private static let turn = Duration.seconds(20)

    /// The statements at the end of a whole run, once a day, read tables from their beginning to
    /// their end: one or two seconds for a million subscriptions.
    private static let sweepMax = Duration.seconds(3600)

    /// Works until nothing is due, or for a while.
    ///
    /// - Returns: whether more is due.
    func work(_ deliver: OutboxDelivery) async throws -> Bool {
        let end = ContinuousClock.now + Self.turn
        var fault: APIFailure?
        var hasMore = true
        while hasMore, ContinuousClock.now < end {
            try Task.checkCancellation()
            var hasAsked = false
            do {
                if fault == nil { hasAsked = try await answerRequests(deliver) }
            } catch let failure as APIFailure where failure.action == .retry(after: nil) {
                // One endpoint may hang alone: the history is read all the same.
                fault = failure
            }
            let hasRead = try await readPage(deliver)
            hasMore = hasAsked || hasRead
        }
        if let fault { throw fault }
        return hasMore
    }

    /// Reads a page of the run that is due; false if none is.
    private func readPage(_ deliver: OutboxDelivery) async throws -> Bool {
        let now = Timestamp.now
        let windows = RecoveryPlan.windows(app, at: now)
        guard let run = try await client.run(RecoveryWindowTable.due, (app, windows)).first else {
            return false
        }
        let slice = RecoveryPlan.slice(run, at: now)
        guard !slice.isEmpty else {
            try await advance(run, to: run.until, pageToken: nil)
            return true
        }
        do {
            let page = try await api.notificationHistory(
                slice,
                onlyFailures: run.job == .missed,
                page: run.pageToken
            )
            metrics.answered(.notificationHistory)
            metrics.unreadable(page.unreadableCount)
            if page.unreadableCount > 0 {
                log.warning(
                    "entries of Apple's list without a payload, left out",
                    logged(run).appending(["recovery.entries": .int(page.unreadableCount)])
                )
            }
            let published = try await publish(page.notifications, of: run, slice, deliver)
            // A run that reaches the present is over, wherever a wrong clock has set its end.
            let end = slice.upperBound < now ? slice.upperBound : run.until
            try await advance(
                run,
                to: page.nextPage == nil ? end : slice.lowerBound,
                pageToken: page.nextPage,
                listed: page.notifications.count,
                published: published,
                unreadable: page.unreadableCount
            )
        } catch let failure as APIFailure {
            if try await isHeld(by: failure, RecoveryLimitTable.notifications) { return true }
            guard failure.action == .restart else { throw failure }
            if run.pageToken != nil {
                log.notice("page token expired, reading the slice again", logged(run))
                try await advance(run, to: slice.lowerBound, pageToken: nil)
            } else if failure.isTooOld {
                log.warning("day that Apple lists no more, passed over", logged(run))
                try await advance(run, to: slice.upperBound, pageToken: nil)
            } else {
                throw failure
            }
        }
        return true
    }

    /// Counts a failure, and lets the endpoint rest if Apple has named an instant.
    func isHeld(by failure: APIFailure, _ endpoint: String) async throws -> Bool {
        metrics.failed(failure)
        guard case .retry(let instant?) = failure.action else { return false }
        // An instant in the past would be no wait.
        let until = max(instant, Timestamp.now.after(.seconds(1)))
        _ = try await client.run(RecoveryLimitTable.hold, (app, endpoint, until))
        return true
    }

    /// Publishes what is missing of a page.
    ///
    /// - Returns: the number of published records.
    private func publish(
        _ notifications: [ListedNotification],
        of run: RecoveryWindowTable.Run,
        _ slice: Range<Timestamp>,
        _ deliver: OutboxDelivery
    ) async throws -> Int {
        var bodies: [Identifier: [UInt8]] = [:]
        var listed: [AppleNotificationTable.Listed] = []
        for notification in notifications {
            let id = NotificationID.uuid(of: notification)
            guard bodies.updateValue(notification.signedPayload, forKey: id) == nil else {
                continue
            }
            listed.append(
                (
                    uuid: id,
                    type: notification.type?.text ?? "unknown",
                    signedDate: notification.signedAt ?? slice.lowerBound
                )
            )
        }
        guard !listed.isEmpty else { return 0 }
        let judged = try await client.run(AppleNotificationTable.list, (app, listed))
        let new = Set(judged.filter(\.isNew).map(\.uuid))
        metrics.listed(notifications.filter { new.contains(NotificationID.uuid(of: $0)) })
        let missing = judged.filter(\.isMissing)
        guard !missing.isEmpty else { return 0 }
        try await deliver(
            missing.compactMap { one in
                bodies[one.uuid].map { body in
                    RecoveredBody.notification(
                        body,
                        NotificationID(
                            environment: app.environment,
                            uuid: one.uuid,
                            nonce: one.nonce
                        ),
                        run,
                        topic: plan.rawTopic
                    )
                }
            }
        )
        let uuids = missing.map(\.uuid)
        _ = try await client.run(AppleNotificationTable.published, (app.environment, uuids))
        metrics.published(run.job.rawValue, missing.count)
        return missing.count
    }

    private func advance(
        _ run: RecoveryWindowTable.Run,
        to readUntil: Timestamp,
        pageToken: String?,
        listed: Int = 0,
        published: Int = 0,
        unreadable: Int = 0
    ) async throws {
        let advance: RecoveryWindowTable.Advance = (
            run, readUntil, pageToken, listed, published, unreadable, plan.interval(run.job)
        )
        let answer = try await client.run(RecoveryWindowTable.advance, advance)
        guard let isOver = answer.first, isOver else { return }
        log.info("notification history read", logged(run))
        if run.job == .complete { try await completed() }
    }

    /// Asks about stale subscriptions, and forgets what Apple no longer lists.
    private func completed() async throws {
        let now = Timestamp.now
        var pipeline = Pipeline()
        pipeline.add(
            RecoveryRequestTable.addStale,
            (app, RecoveryPlan.staleBefore(now), plan.staleMax)
        )
        pipeline.add(
            AppleNotificationTable.prune,
            (app, RecoveryPlan.earliest(app, at: now).before(days: 1))
        )
        pipeline.add(RecoveryRequestTable.prune, (app, RecoveryPlan.answersBefore(now)))
        let sweep = pipeline
        _ = try await client.withConnection { try await $0.run(sweep, deadline: Self.sweepMax) }
    }

    private func logged(_ run: RecoveryWindowTable.Run) -> LogMetadata {
        [
            "app.environment": .string(app.environment.rawValue),
            "app.bundle_id": .string(app.bundleID.text), "recovery.job": .string(run.job.rawValue),
        ]
    }
}
