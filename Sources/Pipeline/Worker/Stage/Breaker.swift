package import OpenSSL
import Settings

/// The breaker against wrong settings; it is pure: the time is an argument.
///
/// The breaker is armed after a start or reload with settings that have not accepted a record yet. While it is armed,
/// records that only the settings refuse are counted and held. A wrong bundle ID must not empty a topic into the dead
/// letters; foreign tokens from any client must not stop a worker whose settings have accepted a record.
package struct Breaker: Sendable {
    /// The limits at which a breaker trips or is disarmed.
    package struct Bounds: Sendable {
        /// Number of distinct contents refused only by the settings at which the breaker trips.
        package let refusedMax: Int
        /// Time after which the breaker is disarmed if it has not tripped.
        package let armedMax: Duration

        package init(refusedMax: Int = 1_000, armedMax: Duration = .seconds(60)) {
            precondition(refusedMax > 0, "a breaker that trips at nothing stops every worker")
            self.refusedMax = refusedMax
            self.armedMax = armedMax
        }
    }

    package enum State: Sendable, Equatable {
        case armed
        case disarmed
        /// Only the settings refuse too many records, so no record is settled.
        case tripped
    }

    /// The evidence of a record about the settings.
    package enum Evidence: Hashable, Sendable {
        /// The settings have accepted the record, so they are right.
        case accepted
        /// Only the settings refuse the record.
        indirect case refused(Refused)
    }

    /// A record that only the settings refuse.
    package struct Refused: Hashable, Sendable {
        /// The hash of the content; repeated content counts once.
        package let content: SHA256Digest
        /// The name, such as an app's, that the settings need in order to accept the record.
        package let subject: String

        /// - Parameter subject: a name that a client may have chosen; it is shortened and made safe for a log.
        package init(content: SHA256Digest, subject: String) {
            self.content = content
            self.subject = Printable.line(subject, lengthMax: 220)
        }
    }

    package enum Decision: Sendable, Equatable {
        /// The batch is processed normally.
        case pass
        /// The batch is processed normally, and the held records are read again.
        case disarm
        /// The first refused record of each partition, and all records after it, are neither written nor committed.
        case hold
        /// No record of the batch is written or committed.
        case holdAll
    }

    package private(set) var state = State.armed
    /// Whether a record has been accepted under these settings, by this worker or another.
    package private(set) var hasAccepted = false
    /// The hash of the settings that determine refusals.
    package let settings: String
    package let bounds: Bounds
    /// Time of the first processed batch: `armedMax` excludes the wait for partitions.
    private var firstBatchAt: ContinuousClock.Instant?
    private var contents: Set<SHA256Digest> = []
    private var refusedBySubject: [String: Int] = [:]

    package init(settings: String, bounds: Bounds = Bounds()) {
        self.settings = settings
        self.bounds = bounds
    }

    /// Evaluates a batch as a whole: one accepted record proves that the settings are right.
    package mutating func evaluate(_ evidence: [Evidence], now: ContinuousClock.Instant) -> Decision {
        guard !evidence.contains(.accepted) else { return accepted() ? .disarm : .pass }
        switch state {
        case .disarmed: return .pass
        case .tripped: return .holdAll
        case .armed: break
        }
        firstBatchAt = firstBatchAt ?? now
        guard !evidence.isEmpty else { return .pass }
        for case .refused(let record) in evidence { count(record) }
        guard contents.count >= bounds.refusedMax else { return .hold }
        state = .tripped
        return .holdAll
    }

    /// Handles a record that these settings have accepted; true if the record has disarmed the breaker.
    package mutating func accepted() -> Bool {
        hasAccepted = true
        return disarm()
    }

    /// Disarms the breaker when its time has passed; true if it was armed before.
    package mutating func tick(_ now: ContinuousClock.Instant) -> Bool {
        guard state == .armed, let firstBatchAt, now - firstBatchAt >= bounds.armedMax else { return false }
        return disarm()
    }

    /// The subjects of the distinct refused records with their number, the most frequent first, up to a limit:
    /// `com.example.app in Sandbox: 17`.
    package var report: [String] {
        let sorted = refusedBySubject.sorted { left, right in
            left.value != right.value ? left.value > right.value : left.key < right.key
        }
        let named = sorted.prefix(Self.subjectsNamedMax)
        let rest = contents.count - named.reduce(0) { $0 + $1.value }
        return named.map { "\($0.key): \($0.value)" } + (rest > 0 ? ["others: \(rest)"] : [])
    }

    /// Maximum subjects that are counted separately, and maximum subjects in the report.
    private static let subjectsKeptMax = 1_000
    private static let subjectsNamedMax = 20

    private mutating func count(_ record: Refused) {
        guard contents.count < bounds.refusedMax, contents.insert(record.content).inserted else { return }
        guard refusedBySubject[record.subject] != nil || refusedBySubject.count < Self.subjectsKeptMax else { return }
        refusedBySubject[record.subject, default: 0] += 1
    }

    private mutating func disarm() -> Bool {
        guard state != .disarmed else { return false }
        state = .disarmed
        contents = []
        refusedBySubject = [:]
        return true
    }
}
