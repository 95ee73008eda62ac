import OpenSSL

/// The breaker against wrong settings: pure, told the time.
///
/// Armed after a start or reload with settings under which no record has been accepted yet. While
/// it is armed, what only the settings refuse is counted and held. A wrong bundle ID must not empty
/// a topic into the dead letters; whoever can post foreign tokens must not be able to stop a worker
/// whose settings have accepted a record.
package struct Breaker: Sendable {
    package enum State: Sendable, Equatable {
        case armed
        case disarmed
        /// The settings are taken to be wrong.
        case tripped
    }

    /// What one batch means for it.
    package struct Findings: Sendable {
        /// The batch held a record that was accepted.
        package var hasAccepted: Bool
        /// Those that only the settings refuse.
        package var refused: [RefusedRecord]

        package init(hasAccepted: Bool = false, refused: [RefusedRecord] = []) {
            self.hasAccepted = hasAccepted
            self.refused = refused
        }
    }

    package enum Decision: Sendable, Equatable {
        /// The batch is like any other.
        case pass
        /// The batch is like any other, and what was held is read again.
        case disarm
        /// From its first refused record on nothing of a partition is written or committed.
        case hold
        /// Nothing of the batch is written or committed.
        case holdAll
    }

    package private(set) var state = State.armed
    /// Whether a record has been accepted under these settings, by this worker or another.
    package private(set) var hasAccepted = false
    /// The hash of the settings that decide what is refused.
    package let settings: String
    /// Distinct signed payloads refused at which it trips.
    package let distinctMax: Int
    /// After this long without tripping it is disarmed.
    package let window: Duration
    /// When the first batch was judged: a wait for brokers or partitions is none of the window.
    private var firstBatchAt: ContinuousClock.Instant?
    private var payloads: Set<SHA256Digest> = []
    private var refusedByApp: [RefusedRecord.App: Int] = [:]

    package init(
        settings: String,
        distinctMax: Int = 1_000,
        window: Duration = .seconds(60)
    ) {
        precondition(distinctMax > 0, "a breaker that trips at nothing stops every worker")
        self.settings = settings
        self.distinctMax = distinctMax
        self.window = window
    }

    /// Judges a batch as a whole: one acceptance in it shows that the settings are right.
    package mutating func judge(
        _ findings: Findings,
        now: ContinuousClock.Instant
    ) -> Decision {
        guard !findings.hasAccepted else {
            return accepted() ? .disarm : .pass
        }
        switch state {
        case .disarmed: return .pass
        case .tripped: return .holdAll
        case .armed: break
        }
        firstBatchAt = firstBatchAt ?? now
        guard !findings.refused.isEmpty else { return .pass }
        findings.refused.forEach { count($0) }
        guard payloads.count >= distinctMax else { return .hold }
        state = .tripped
        return .holdAll
    }

    /// Records that these settings have accepted a record; true when that has disarmed it.
    package mutating func accepted() -> Bool {
        hasAccepted = true
        return disarm()
    }

    /// Lets time pass; true when that has disarmed it.
    package mutating func tick(_ now: ContinuousClock.Instant) -> Bool {
        guard state == .armed, let firstBatchAt, now - firstBatchAt >= window else { return false }
        return disarm()
    }

    /// The apps and environments of the distinct payloads refused, each with their number, the most
    /// frequent first and bounded: `com.example.app in Sandbox: 17`.
    package var report: [String] {
        let sorted = refusedByApp.sorted { left, right in
            left.value != right.value ? left.value > right.value : left.key.text < right.key.text
        }
        let named = sorted.prefix(Self.appsNamedMax)
        let rest = payloads.count - named.reduce(0) { $0 + $1.value }
        return named.map { "\($0.key.text): \($0.value)" } + (rest > 0 ? ["others: \(rest)"] : [])
    }

    /// How many apps are kept apart, and how many of these are named.
    private static let appsKeptMax = 1_000
    private static let appsNamedMax = 20

    private mutating func count(_ record: RefusedRecord) {
        guard payloads.count < distinctMax, payloads.insert(record.payload).inserted else {
            return
        }
        guard refusedByApp[record.app] != nil || refusedByApp.count < Self.appsKeptMax else {
            return
        }
        refusedByApp[record.app, default: 0] += 1
    }

    private mutating func disarm() -> Bool {
        guard state != .disarmed else { return false }
        state = .disarmed
        payloads = []
        refusedByApp = [:]
        return true
    }
}
