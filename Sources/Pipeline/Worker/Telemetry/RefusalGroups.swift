import AppStore

/// Counts similar dead letters per minute and finds the groups that grow quickly.
///
/// Pure: the time is an argument. An operator would look at a group as a whole: its letters have
/// reason, leaf certificate, bundle ID, topic and producer in common.
struct RefusalGroups: Sendable {
    /// The common properties of similar dead letters.
    struct Group: Hashable, Sendable {
        let reason: RefusalReason
        /// SHA-256 of the leaf certificate, hexadecimal; nil if there was none.
        let certificate: String?
        let bundleID: String?
        let topic: String
        /// The name that the producer gives itself in the record's header.
        let producer: String?
    }

    /// A group that has just reached 100 letters within the minute, or ten times as many.
    struct Growth: Equatable, Sendable {
        let group: Group
        /// Letters in the current minute.
        let count: Int
        /// Letters in the minute before.
        let countBefore: Int
    }

    private static let window = Duration.seconds(60)
    /// A smaller group is not worth a line in the log.
    static let reportedCountMin = 100
    /// Hostile traffic may make any number of groups: those beyond this many are not distinguished.
    private static let groupsMax = 10_000

    private var windowStart: ContinuousClock.Instant?
    private var counts: [Group: Int] = [:]
    private var countsBefore: [Group: Int] = [:]

    /// Counts a dead letter.
    ///
    /// - Returns: its group's growth, if the group has just reached a hundred, a thousand and so on
    ///   within the minute, and more than twice its count in the minute before; else nil.
    mutating func count(_ group: Group, now: ContinuousClock.Instant) -> Growth? {
        advanceWindow(now)
        guard counts[group] != nil || counts.count < Self.groupsMax else { return nil }
        let count = counts[group, default: 0] + 1
        counts[group] = count
        let countBefore = countsBefore[group] ?? 0
        guard Self.isReported(count), count > 2 * countBefore else { return nil }
        return Growth(group: group, count: count, countBefore: countBefore)
    }

    /// Finds the size of each reason's largest group, in the current minute or the one before,
    /// whichever has more.
    mutating func largest(now: ContinuousClock.Instant) -> [RefusalReason: Int] {
        advanceWindow(now)
        var largest: [RefusalReason: Int] = [:]
        for (group, count) in counts.merging(countsBefore, uniquingKeysWith: max) {
            largest[group.reason] = max(largest[group.reason] ?? 0, count)
        }
        return largest
    }

    /// Begins a new minute if the current one is over.
    private mutating func advanceWindow(_ now: ContinuousClock.Instant) {
        let start = windowStart ?? now
        windowStart = start
        guard now - start >= Self.window else { return }
        countsBefore = now - start < Self.window * 2 ? counts : [:]
        counts = [:]
        windowStart = now
    }

    /// 100, 1,000, 10,000 and so on.
    private static func isReported(_ count: Int) -> Bool {
        var bound = reportedCountMin
        while bound < count { bound *= 10 }
        return bound == count
    }
}
