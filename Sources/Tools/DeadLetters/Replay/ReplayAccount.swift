import AppStore
import Kafka
import Records
import Store

/// The state of one replay's records: unsent, sent and undecided, or decided.
///
/// Holds rules only, without I/O.
struct ReplayAccount {
    private struct Sent {
        let position: RecordPosition
        /// Whether this run has sent the record; settings may have been corrected since an earlier run.
        let isOfThisRun: Bool
        var isRefused = false
    }

    /// Records that were never sent, in their order.
    private(set) var unsent: ArraySlice<ReplayRecordRow>
    private var sent: [Int64: Sent] = [:]
    private(set) var undecided: Set<Int64> = []
    /// The positions at which bodies were sent, by the text of the bodies' own positions.
    private var byBody: [String: RecordPosition] = [:]
    /// The latest decisions of this run; true for a refusal.
    private var recent: [Bool] = []
    private var decidedCount = 0
    private let failingShareMax: Double

    init(_ records: [ReplayRecordRow], failingShareMax: Double) {
        self.failingShareMax = failingShareMax
        unsent = records.filter { $0.sentAt == nil && $0.outcome == nil }[...]
        for record in records {
            guard let position = record.sent else { continue }
            add(position, of: record, isOfThisRun: false)
            if record.outcome == nil { undecided.insert(record.ordinal) }
            sent[record.ordinal]?.isRefused = record.outcome == .refused
        }
    }

    /// Whether nothing is left to be sent or decided.
    var isSettled: Bool { unsent.isEmpty && undecided.isEmpty }

    /// Number of records that may be sent before more outcomes are known.
    ///
    /// The number begins small, so that wrong settings cost little, and grows with each decision.
    var sendable: Int {
        let room = min(max(Self.firstMax, 2 * decidedCount), Self.undecidedMax) - undecided.count
        return max(0, min(room, unsent.count))
    }

    /// Whether more than the allowed share of the latest decisions were refusals.
    var isFailing: Bool {
        let refused = recent.count { $0 }
        return Double(refused) > failingShareMax * Double(max(recent.count, Self.firstMax))
    }

    var sentPartitions: Set<TopicPartition> { Set(undecided.compactMap { sent[$0]?.position.topicPartition }) }

    var sentTopics: Set<String> { Set(sent.values.map(\.position.topic)) }

    /// Removes and returns the next records to send.
    mutating func next(_ count: Int) -> [ReplayRecordRow] {
        defer { unsent = unsent.dropFirst(count) }
        return Array(unsent.prefix(count))
    }

    /// The position at which this body was sent before.
    func position(ofBody body: RecordPosition) -> RecordPosition? { byBody[body.description] }

    mutating func sent(_ position: RecordPosition, of record: ReplayRecordRow) {
        add(position, of: record, isOfThisRun: true)
        undecided.insert(record.ordinal)
    }

    private mutating func add(_ position: RecordPosition, of record: ReplayRecordRow, isOfThisRun: Bool) {
        sent[record.ordinal] = Sent(position: position, isOfThisRun: isOfThisRun)
        // Earlier versions sent the observation itself, to another topic.
        if let raw = record.raw, RecordPosition(raw)?.topic == position.topic { byBody[raw] = position }
    }

    /// Sent records that are not refused; a later stage may still refuse an accepted record.
    var refusable: [Int64] { sent.filter { !$0.value.isRefused }.map(\.key) }

    /// The undecided records, and the accepted ones among the latest records that were sent.
    var recentlySent: [Int64] { refusable.sorted().suffix(Self.undecidedMax) + undecided }

    /// Marks refused records; returns those that were not refused before.
    mutating func refuse(_ found: [ReplayRecordTable.Decided]) -> [ReplayRecordTable.Decided] {
        found.filter { refused in
            guard let record = sent[refused.ordinal], !record.isRefused else { return false }
            sent[refused.ordinal]?.isRefused = true
            undecided.remove(refused.ordinal)
            note(record, isRefused: true)
            return true
        }
    }

    /// Removes and returns the records that their stage has settled without a dead letter.
    ///
    /// - Parameter committed: the committed offsets of the stages' groups, read before the end of
    ///   the dead-letter topic that the index has reached.
    mutating func accepted(committed: [TopicPartition: Int64]) -> [ReplayRecordTable.Decided] {
        let passed = undecided.filter { ordinal in
            guard let position = sent[ordinal]?.position, let offset = committed[position.topicPartition] else {
                return false
            }
            return position.offset < offset
        }
        undecided.subtract(passed)
        for ordinal in passed {
            guard let found = sent[ordinal] else { continue }
            note(found, isRefused: false)
        }
        return passed.sorted().map { ReplayRecordTable.Decided(ordinal: $0, .accepted) }
    }

    private mutating func note(_ decided: Sent, isRefused: Bool) {
        guard decided.isOfThisRun else { return }
        decidedCount += 1
        recent.append(isRefused)
        if recent.count > Self.recentMax { recent.removeFirst() }
    }

    private static let firstMax = 20
    private static let undecidedMax = 2_000
    private static let recentMax = 100
}
