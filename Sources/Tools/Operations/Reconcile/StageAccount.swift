package import Records
import Settings

/// The dispositions of one stage's input, partition by partition.
package struct StageAccount: Hashable, Sendable {
    package let stage: StageDescription
    package let group: String
    /// The topic it reads.
    package let topic: String
    package let partitions: [PartitionAccount]

    package var lag: Int64 { partitions.reduce(0) { $0 + $1.lag } }

    /// The records that the topic holds or has held, by its offsets.
    package var end: Int64 { partitions.reduce(0) { $0 + $1.held.upperBound } }

    /// The records settled since the tallies began.
    package var settled: Int64 {
        partitions.reduce(0) { $0 + ($1.committed ?? 0) - ($1.tally?.began ?? $1.committed ?? 0) }
    }

    package var counts: [Disposition: Int64] {
        partitions.reduce(into: [:]) { counts, partition in
            counts.merge(partition.tally?.counts ?? [:], uniquingKeysWith: +)
        }
    }

    /// The records written to the next topic since the tallies began.
    package var forwarded: Int64 {
        partitions.reduce(0) { $0 + ($1.tally?.forwarded ?? 0) }
    }

    /// Whether the tallies hold everything that the stage has ever done.
    package var isCountedFromStart: Bool {
        partitions.allSatisfy { partition in
            switch partition.standing {
            case .notBegun: true
            case .withoutTally: false
            case .counted(_, let tally): tally.began == 0
            }
        }
    }

    package var isSettled: Bool { lag == 0 }

    /// Why the account does not add up; empty when it does.
    package var problems: [String] {
        partitions.compactMap { partition in
            let place = "\(stage.name): \(topic)[\(partition.partition)]"
            if case .withoutTally(let committed) = partition.standing {
                return "\(place): offset \(committed) is committed without a tally, so what "
                    + "became of the records below it is not known"
            }
            guard let unaccounted = partition.unaccounted, unaccounted != 0 else { return nil }
            return unaccounted > 0
                ? "\(place): \(Quantity.counted(unaccounted, "settled record")) without a "
                    + "disposition"
                : "\(place): \(Quantity.counted(-unaccounted, "disposition")) more than records "
                    + "settled"
        }
    }
}

/// The dispositions of one partition of a stage's input, from its last commit.
package struct PartitionAccount: Hashable, Sendable {
    /// How far the stage's group has come.
    package enum Standing: Hashable, Sendable {
        case notBegun
        /// An offset without a tally: another program committed it, or reset the group.
        case withoutTally(committed: Int64)
        case counted(committed: Int64, tally: StageTally)
    }

    package let partition: Int32
    /// The offsets that the partition holds, the end being what the next record will get.
    package let held: Range<Int64>
    package let standing: Standing

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
