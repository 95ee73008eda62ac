import AppStore
import AppStoreServer
import Postgres
import Store
import Telemetry
import Worker

/// Reads the notification history, several slices at a time.
///
/// A slice's position advances after the broker has acknowledged the page's records. A page that is
/// read twice is published twice, which changes nothing.
extension AppRecovery {
    private typealias Slice = RecoveryWindowTable.Slice

    /// Deadline of the statements at the end of a complete run, once a day.
    ///
    /// They scan whole tables: one or two seconds for a million subscriptions.
    private static let sweepMax = Duration.seconds(3600)

    func readHistory(_ job: RecoveryWindowTable.Job, _ deliver: @escaping OutboxDelivery) async throws {
        try await SideBySide.work { () -> [Slice] in
            let windows = RecoveryPlan.windows(app, at: .now)
            _ = try await client.run(RecoveryWindowTable.begin, (app, job, windows))
            return Array(try await client.run(RecoveryWindowTable.due, (app, job)))
        } _: { given in
            var slice = given
            do { try await read(&slice, deliver) } catch let failure as APIFailure { try await settle(slice, failure) }
        }
    }

    private func read(_ slice: inout Slice, _ deliver: OutboxDelivery) async throws {
        try await clip(&slice, to: RecoveryPlan.readable(slice, at: .now))
        guard !slice.bounds.isEmpty else { return try await finish(slice) }
        var trail = PageTrail(plan.pages, from: slice.pageToken)
        while true {
            let page = try await api.notificationHistory(
                slice.bounds, onlyFailures: slice.job == .missed, page: slice.pageToken)
            let counts = try await take(page, of: slice, deliver)
            guard let next = page.nextPage else { return try await finish(slice, counts) }
            _ = try await client.run(RecoveryWindowTable.advance, (slice, next, counts))
            slice.pageToken = next
            slice.pageNumber += 1
            switch trail.follow(next) {
            case .readable: continue
            case .repeated:
                log.warning("page token repeats, reading the slice again later", logged(slice))
                return try await delay(slice, next: nil, RecoveryPlan.endlessDelay)
            case .tooLong:
                log.warning("slice without an end so far, reading on later", logged(slice))
                return try await delay(slice, next: next, RecoveryPlan.endlessDelay)
            }
        }
    }

    /// Shrinks a slice to the part that can be read.
    private func clip(_ slice: inout Slice, to bounds: Range<Timestamp>) async throws {
        guard bounds != slice.bounds else { return }
        _ = try await client.run(RecoveryWindowTable.clip, (slice, bounds))
        slice.bounds = bounds
    }

    private func delay(_ slice: Slice, next: String?, _ duration: Duration) async throws {
        _ = try await client.run(RecoveryWindowTable.delay, (slice, next, duration))
    }

    private func settle(_ slice: Slice, _ failure: APIFailure) async throws {
        metrics.failed(failure)
        guard failure.action == .restart else { throw failure }
        if slice.pageToken != nil {
            log.notice("page token expired, reading the slice again", logged(slice))
            try await delay(slice, next: nil, RecoveryPlan.delay(after: slice.delayCount))
        } else if failure.isTooOld {
            log.warning("day that Apple lists no more, passed over", logged(slice))
            var slice = slice
            try await clip(&slice, to: slice.bounds.upperBound..<slice.bounds.upperBound)
            try await finish(slice)
        } else {
            throw failure
        }
    }

    /// Publishes the missing notifications of a page.
    private func take(_ page: NotificationPage, of slice: Slice, _ deliver: OutboxDelivery) async throws
        -> RecoveryWindowTable.PageCounts
    {
        metrics.answered(.notificationHistory)
        metrics.unreadable(page.unreadableCount)
        if page.unreadableCount > 0 {
            log.warning(
                "entries of Apple's list without a payload, left out",
                logged(slice).appending(["recovery.entries": .int(page.unreadableCount)]))
        }
        var counts = RecoveryWindowTable.PageCounts()
        counts.listed = page.notifications.count
        counts.unreadable = page.unreadableCount
        counts.published = try await publish(page.notifications, of: slice, deliver)
        return counts
    }

    /// Publishes the missing notifications.
    ///
    /// - Returns: the number of published records.
    private func publish(_ notifications: [ListedNotification], of slice: Slice, _ deliver: OutboxDelivery) async throws
        -> Int
    {
        var bodies: [Identifier: [UInt8]] = [:]
        var listed: [AppleNotificationTable.Listed] = []
        for notification in notifications {
            let id = NotificationID.uuid(of: notification)
            guard bodies.updateValue(notification.signedPayload, forKey: id) == nil else { continue }
            listed.append(
                (
                    uuid: id, type: notification.type?.text ?? "unknown",
                    signedDate: notification.signedAt ?? slice.bounds.lowerBound
                ))
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
                        body, NotificationID(environment: app.environment, uuid: one.uuid, nonce: one.nonce), of: slice,
                        topic: plan.rawTopic)
                }
            })
        let uuids = missing.map(\.uuid)
        _ = try await client.run(AppleNotificationTable.published, (app.environment, uuids))
        metrics.published(slice.job.rawValue, missing.count)
        return missing.count
    }

    private func finish(_ slice: Slice, _ counts: RecoveryWindowTable.PageCounts = .init()) async throws {
        let answer = try await client.run(RecoveryWindowTable.finish, (slice, counts, plan.interval(slice.job)))
        guard let isOver = answer.first, isOver else { return }
        log.info("notification history read", logged(slice))
        if slice.job == .complete { try await completed() }
    }

    /// Adds questions about stale subscriptions and purchases without a token, and deletes notifications that Apple
    /// no longer lists.
    private func completed() async throws {
        let now = Timestamp.now
        var pipeline = Pipeline()
        pipeline.add(RecoveryRequestTable.addStale, (app, RecoveryPlan.staleBefore(now), plan.staleMax))
        if access.setsAccountTokens { pipeline.add(RecoveryRequestTable.addTokens, app) }
        pipeline.add(AppleNotificationTable.prune, (app, RecoveryPlan.earliest(app, at: now).before(days: 1)))
        pipeline.add(RecoveryRequestTable.prune, (app, RecoveryPlan.answersBefore(now)))
        let sweep = pipeline
        // Use a separate connection, because the work of other apps needs the pooled ones.
        _ = try await client.withHeldConnection { try await $0.run(sweep, deadline: Self.sweepMax) }
    }

    private func logged(_ slice: Slice) -> LogMetadata {
        [
            "app.environment": .string(app.environment.rawValue), "app.bundle_id": .string(app.bundleID.text),
            "recovery.job": .string(slice.job.rawValue),
        ]
    }
}
