package import Worker

/// What one stage has done with one partition of its input, as its last commit says.
package struct PartitionAccount: Hashable, Sendable {
    /// How far the stage's group has come.
    package enum Standing: Hashable, Sendable {
        /// The group has committed nothing.
        case notBegun
        /// An offset without a tally: somebody else committed it, or reset the group.
        case withoutTally(committed: Int64)
        case counted(committed: Int64, tally: StageTally)
    }

    package let partition: Int32
    /// The offsets that the partition holds, the end being what the next record will get.
    package let held: Range<Int64>
    package let standing: Standing

    package init(partition: Int32, held: Range<Int64>, standing: Standing) {
        self.partition = partition
        self.held = held
        self.standing = standing
    }

    package var committed: Int64? {
        switch standing {
        case .notBegun: nil
        case .withoutTally(let committed), .counted(let committed, _): committed
        }
    }

    package var tally: StageTally? {
        guard case .counted(_, let tally) = standing else { return nil }
        return tally
    }

    /// The first offset that waits for the stage, or will.
    package var next: Int64 { max(committed ?? 0, held.lowerBound) }

    /// How many records wait for the stage.
    package var lag: Int64 { max(0, held.upperBound - next) }

    /// Offsets settled since the tally began that no disposition accounts for; 0 when all is well,
    /// negative when more was counted than settled.
    package var unaccounted: Int64? {
        guard case .counted(let committed, let tally) = standing else { return nil }
        return committed - tally.began - tally.total
    }
}
