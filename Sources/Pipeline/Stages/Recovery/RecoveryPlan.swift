import AppStore
import Platform
import Settings
import Store
import Topology

/// The intervals, windows and bounds of the requests to Apple.
struct RecoveryPlan: Sendable {
    let missedInterval: Duration
    let completeInterval: Duration
    let staleMax: Int
    let rawTopic: String
    /// The bounds of one question, or of one slice of the history.
    var pages = PageTrail.Bounds()

    init(_ settings: SettingsValues, rawTopic: String) {
        missedInterval = settings[RecoverySettings.missedInterval]
        completeInterval = settings[RecoverySettings.completeInterval]
        staleMax = settings[RecoverySettings.staleMax]
        self.rawTopic = rawTopic
    }

    private static let missedDays: Int64 = 2
    /// Days of readable history: Apple keeps 180 in Production and 30 in the Sandbox (App Store
    /// Server API, Get Notification History).
    ///
    /// These numbers are a day less, because Apple's clock decides.
    private static let productionDays: Int64 = 179
    private static let otherDays: Int64 = 29

    /// Days for which an answered question is kept; in this time a stale subscription has no new question.
    private static let answersDays: Int64 = 7
    /// Days after its renewal date until a subscription is stale.
    private static let renewalDays: Int64 = 1

    func interval(_ job: RecoveryWindowTable.Job) -> Duration { job == .missed ? missedInterval : completeInterval }

    static func windows(_ app: RecoveredApp, at now: Timestamp) -> RecoveryWindowTable.Windows {
        (missedFrom: now.before(days: missedDays), completeFrom: earliest(app, at: now), until: now)
    }

    /// The oldest instant for which Apple answers.
    static func earliest(_ app: RecoveredApp, at now: Timestamp) -> Timestamp {
        now.before(days: app.environment == .production ? productionDays : otherDays)
    }

    /// The part of a slice that can be read: the time within Apple's history and not in the future.
    ///
    /// The bounds stay the same until the last page: Apple accepts a page's token only with the
    /// bounds of the first page. A time may be in the future after a clock was set back.
    static func readable(_ slice: RecoveryWindowTable.Slice, at now: Timestamp) -> Range<Timestamp> {
        guard slice.pageToken == nil else { return slice.bounds }
        let (from, until) = (slice.bounds.lowerBound, slice.bounds.upperBound)
        let end = min(until, max(from, now))
        return min(max(from, earliest(slice.app, at: now)), end)..<end
    }

    /// Returns the delay before a slice is read again: one minute for each earlier delay, at most an hour.
    static func delay(after count: Int64) -> Duration { .seconds(60 * min(count, 60)) }
    /// Delay before a list without an end is read again.
    static let endlessDelay = Duration.seconds(3_600)
    /// Time before the deadline of a refund request in which its answer waits for no facts.
    static let refundReserve = Duration.seconds(3_600)
    /// Longest pause asked for by Apple that is not reported.
    static let longHold = Duration.seconds(3_600)

    static func staleBefore(_ now: Timestamp) -> Timestamp { now.before(days: renewalDays) }
    static func answersBefore(_ now: Timestamp) -> Timestamp { now.before(days: answersDays) }
}

extension Timestamp {
    /// The present time by this machine's clock.
    static var now: Timestamp { Timestamp(milliseconds: WallClock.milliseconds) }

    func before(days: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds - days * Self.millisecondsPerDay) }

    func after(_ duration: Duration) -> Timestamp {
        Timestamp(milliseconds: milliseconds + Int64(duration / .milliseconds(1)))
    }
}
