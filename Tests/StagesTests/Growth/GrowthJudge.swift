/// Judges whether a table's sizes, sampled evenly through a run, have stopped growing.
///
/// The median of the last third is compared with that of the middle third; the first third is for
/// growing. Medians, because the size of a table whose rows come and go depends on what autovacuum
/// has not yet cleaned up at the sample: the highest sample says when it was taken, and one alone
/// decides nothing.
struct GrowthJudge {
    /// Maximum growth of the last third's median, as a share of the middle third's.
    let shareMax: Double
    /// Whether the first third's median counts too if it is the larger one.
    ///
    /// A size that was usual before is no growth. A queue holds the rows of one round, or of two if
    /// a round ended between two visits of autovacuum, and the share of these drifts.
    let countsFirst: Bool

    /// Megabytes added to the maximum: eight pages, which a table of any size may add.
    static let allowance = 0.065_536

    /// Minimum samples in a third; fewer are not judged.
    static let samplesPerThirdMin = 4

    /// A judge for tables that have a row for each purchase or user, changed in place.
    ///
    /// A growth of 1 % in ten minutes is 2 % between the middles of an hour's thirds, which shows
    /// in any table above 7 MB.
    static let keptRows = GrowthJudge(shareMax: 0.01, countsFirst: false)

    /// A judge for tables whose rows come and go, and whose size varies by a third.
    static let passingRows = GrowthJudge(shareMax: 0.05, countsFirst: true)

    /// The judge for a table of this name; the strict one by default.
    static func of(_ table: String) -> GrowthJudge {
        switch table {
        case "changes", "notifications", "revisions", "unpublished_changes": passingRows
        default: keptRows
        }
    }

    struct Medians: Equatable {
        let first: Double
        let middle: Double
        let last: Double
    }

    /// The median of each third.
    ///
    /// `nil` if there are too few samples.
    static func medians(_ samples: [Double]) -> Medians? {
        let third = samples.count / 3
        guard third >= samplesPerThirdMin else { return nil }
        return Medians(
            first: median(samples.prefix(third)), middle: median(samples.suffix(2 * third).prefix(third)),
            last: median(samples.suffix(third)))
    }

    /// Whether a table with these medians has stopped growing.
    func isAtRest(_ medians: Medians) -> Bool { medians.last <= sizeMax(medians) }

    /// The largest allowed median of the last third.
    func sizeMax(_ medians: Medians) -> Double {
        let before = countsFirst ? max(medians.first, medians.middle) : medians.middle
        return before * (1 + shareMax) + Self.allowance
    }

    private static func median(_ samples: ArraySlice<Double>) -> Double {
        let sorted = samples.sorted()
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}
