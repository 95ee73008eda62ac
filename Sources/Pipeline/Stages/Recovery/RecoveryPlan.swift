import AppStore
import Platform
import Settings
import Store
import Topology

/// The intervals, windows and bounds of the questions to Apple.
struct RecoveryPlan: Sendable {
    let missedInterval: Duration
    let completeInterval: Duration
    let staleMax: Int
    let rawTopic: String

    init(_ settings: SettingsValues, rawTopic: String) {
        missedInterval = settings[RecoverySettings.missedInterval]
        completeInterval = settings[RecoverySettings.completeInterval]
        staleMax = settings[RecoverySettings.staleMax]
        self.rawTopic = rawTopic
    }

    private static let missedDays: Int64 = 2
    /// Apple keeps 180 days in Production and 30 in the Sandbox (App Store Server API, Get
    /// Notification History); a day less, as its clock decides.
    private static let productionDays: Int64 = 179
    private static let otherDays: Int64 = 29

    /// A slice of a window is read page by page: should a page's token expire, no more than a slice
    /// is read again.
    private static let sliceMilliseconds = Timestamp.millisecondsPerDay

    /// How long an answered question is kept, during which a stale subscription is not asked about
    /// again.
    private static let answersDays: Int64 = 7
    /// How long after its renewal date a subscription is stale.
    private static let renewalDays: Int64 = 1

    func interval(_ job: RecoveryWindowTable.Job) -> Duration {
        job == .missed ? missedInterval : completeInterval
    }

    static func windows(_ app: RecoveredApp, at now: Timestamp) -> RecoveryWindowTable.Windows {
        (missedFrom: now.before(days: missedDays), completeFrom: earliest(app, at: now), until: now)
    }

    /// The oldest instant that Apple can be asked about.
    static func earliest(_ app: RecoveredApp, at now: Timestamp) -> Timestamp {
        now.before(days: app.environment == .production ? productionDays : otherDays)
    }

    /// The next slice of a run; what has become too old while the run lasted is passed over.
    ///
    /// A slice stays as it is until its last page: Apple accepts a page's token only with the slice
    /// of the first page.
    static func slice(_ run: RecoveryWindowTable.Run, at now: Timestamp) -> Range<Timestamp> {
        let earliest = run.pageToken == nil ? earliest(run.app, at: now) : run.readUntil
        // Apple's list ends now: only a clock that was ahead has set a later end.
        let until = run.pageToken == nil ? min(run.until, max(now, run.readUntil)) : run.until
        let begin = min(max(run.readUntil, earliest), until)
        let end = Timestamp(milliseconds: begin.milliseconds + sliceMilliseconds)
        return begin..<min(end, until)
    }

    static func staleBefore(_ now: Timestamp) -> Timestamp { now.before(days: renewalDays) }
    static func answersBefore(_ now: Timestamp) -> Timestamp { now.before(days: answersDays) }
}

extension Timestamp {
    /// By this machine's clock.
    static var now: Timestamp { Timestamp(milliseconds: WallClock.milliseconds) }

    func before(days: Int64) -> Timestamp {
        Timestamp(milliseconds: milliseconds - days * Self.millisecondsPerDay)
    }

    func after(_ duration: Duration) -> Timestamp {
        Timestamp(milliseconds: milliseconds + Int64(duration / .milliseconds(1)))
    }
}
