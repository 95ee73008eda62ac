import AppStore

/// Counts like dead letters by the minute and tells which of them become many.
///
/// Pure: the time is an argument. A group is what an operator would look at together: one reason,
/// leaf certificate, bundle ID, topic and producer.
struct RefusalGroups: Sendable {
    /// The common properties of similar dead letters.
    struct Group: Hashable, Sendable {
        let reason: RefusalReason
        /// SHA-256 of the leaf certificate, hexadecimal; nil if there was none.
        let certificate: String?
        let bundleID: String?
        let topic: String
        /// As the record names it.
        let producer: String?
    }

    /// A group that has just become larger than a bound, or ten times as large.
    struct Growth: Equatable, Sendable {
        let group: Group
        /// Within the minute.
        let count: Int
        /// Within the minute before.
        let before: Int
    }

    private static let window = Duration.seconds(60)
    /// From this many letters within a minute on a group is worth a line.
    static let growthMin = 100
    /// Hostile traffic may make any number of groups: those beyond this many are not distinguished.
    private static let groupsMax = 10_000

    private var start: ContinuousClock.Instant?
    private var counts: [Group: Int] = [:]
    private var former: [Group: Int] = [:]

    /// Counts a dead letter.
    ///
    /// - Returns: its group's growth, where that has just reached a hundred, a thousand and so on
    ///   within the minute, and is more than twice what it was in the one before.
    mutating func count(_ group: Group, now: ContinuousClock.Instant) -> Growth? {
        turn(now)
        guard counts[group] != nil || counts.count < Self.groupsMax else { return nil }
        let count = counts[group, default: 0] + 1
        counts[group] = count
        let before = former[group] ?? 0
        guard Self.isBound(count), count > 2 * before else { return nil }
        return Growth(group: group, count: count, before: before)
    }

    /// The letters of the largest group of each reason, within this minute or the one before,
    /// whichever has more.
    mutating func largest(now: ContinuousClock.Instant) -> [RefusalReason: Int] {
        turn(now)
        var largest: [RefusalReason: Int] = [:]
        for (group, count) in counts.merging(former, uniquingKeysWith: max) {
            largest[group.reason] = max(largest[group.reason] ?? 0, count)
        }
        return largest
    }

    private mutating func turn(_ now: ContinuousClock.Instant) {
        let begun = start ?? now
        start = begun
        guard now - begun >= Self.window else { return }
        former = now - begun < Self.window * 2 ? counts : [:]
        counts = [:]
        start = now
    }

    /// 100, 1,000, 10,000 and so on.
    private static func isBound(_ count: Int) -> Bool {
        var bound = growthMin
        while bound < count { bound *= 10 }
        return bound == count
    }
}
