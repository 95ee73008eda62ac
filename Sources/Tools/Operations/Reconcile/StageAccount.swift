import Commands
package import Records

/// The dispositions of one stage's input, partition by partition.
package struct StageAccount: Hashable, Sendable {
    package let stage: StageDescription
    package let group: String
    /// The topic that the stage reads.
    package let topic: String
    package let partitions: [PartitionAccount]

    package var lag: Int64 { partitions.reduce(0) { $0 + $1.lag } }

    /// Number of records that the topic has or had, by its offsets.
    package var end: Int64 { partitions.reduce(0) { $0 + $1.held.upperBound } }

    /// Number of records settled since the tallies began.
    package var settled: Int64 {
        partitions.reduce(0) { $0 + ($1.committed ?? 0) - ($1.tally?.began ?? $1.committed ?? 0) }
    }

    package var counts: [Disposition: Int64] {
        partitions.reduce(into: [:]) { counts, partition in
            counts.merge(partition.tally?.counts ?? [:], uniquingKeysWith: +)
        }
    }

    /// Number of records written to the next topic since the tallies began.
    package var forwarded: Int64 { partitions.reduce(0) { $0 + ($1.tally?.forwarded ?? 0) } }

    /// Whether the tallies count every record that the stage has ever processed.
    package var isCountedFromStart: Bool {
        partitions.allSatisfy { partition in
            switch partition.standing {
            case .notBegun: true
            case .withoutTally: false
            case .counted(_, let tally, _): tally.began == 0
            }
        }
    }

    package var isSettled: Bool { lag == 0 }

    /// The reasons why the account does not balance; empty if it does.
    package var problems: [String] {
        partitions.flatMap { partition in partition.problems.map { "\(place(partition)): \($0)" } }
    }

    /// The operators' statements about offsets that no tally counts, as text.
    package var statements: [String] {
        partitions.compactMap { partition in
            guard let statement = partition.statement, let began = partition.tally?.began else { return nil }
            return "\(place(partition)): \(Quantity.counted(began, "offset")) before "
                + "\(Quantity.grouped(began)): \(statement.by), \(statement.at): " + statement.reason
        }
    }

    private func place(_ partition: PartitionAccount) -> String { "\(stage.name): \(topic)[\(partition.partition)]" }
}

/// The dispositions of one partition of a stage's input, read from the last commit.
package struct PartitionAccount: Hashable, Sendable {
    /// The progress of the stage's group.
    package enum Standing: Hashable, Sendable {
        case notBegun
        /// An offset without a tally of this cluster: another program committed or copied it.
        case withoutTally(committed: Int64)
        case counted(committed: Int64, tally: StageTally, statement: AccountStatement? = nil)
    }

    package let partition: Int32
    /// The offsets that the partition holds; the end is the offset of the next record.
    package let held: Range<Int64>
    package let standing: Standing

    package var committed: Int64? {
        switch standing {
        case .notBegun: nil
        case .withoutTally(let committed), .counted(let committed, _, _): committed
        }
    }

    package var tally: StageTally? {
        guard case .counted(_, let tally, _) = standing else { return nil }
        return tally
    }

    /// An operator's statement about the offsets before the tally.
    ///
    /// `nil` without a statement.
    package var statement: AccountStatement? {
        guard case .counted(_, _, let statement) = standing else { return nil }
        return statement
    }

    /// Whether no record was ever written and no offset is committed.
    var isUntouched: Bool { held.upperBound == 0 && committed == nil }

    /// The first offset that waits for the stage, or the next one that will.
    package var next: Int64 { max(committed ?? 0, held.lowerBound) }

    /// Number of records that wait for the stage.
    package var lag: Int64 { max(0, held.upperBound - next) }

    /// Number of offsets settled since the tally began that no disposition counts.
    ///
    /// The number is 0 if the account balances, and negative if more records were counted than settled.
    package var unaccounted: Int64? {
        guard case .counted(let committed, let tally, _) = standing else { return nil }
        return committed - tally.began - tally.total
    }

    /// The reasons why the partition's account does not balance; empty if it does.
    ///
    /// An account that does not begin with the first offset states nothing about the offsets before
    /// it, even after retention has removed them.
    fileprivate var problems: [String] {
        var problems: [String] = []
        if let committed, committed > held.upperBound {
            problems.append(
                "offset \(committed) is committed, but the topic ends at \(held.upperBound): it "
                    + "was recreated, or has lost records")
        }
        switch standing {
        case .withoutTally(let committed) where committed > 0:
            problems.append(
                "offset \(committed) is committed without a tally of this cluster, so " + unknown(before: committed))
        case .counted(_, let tally, nil) where tally.began > 0:
            problems.append("the counts begin at offset \(tally.began), so " + unknown(before: tally.began))
        default: break
        }
        if let unaccounted, unaccounted > 0 {
            problems.append("\(Quantity.counted(unaccounted, "settled record")) without a disposition")
        } else if let unaccounted, unaccounted < 0 {
            problems.append("\(Quantity.counted(-unaccounted, "disposition")) more than records settled")
        }
        return problems
    }

    private func unknown(before offset: Int64) -> String {
        let still =
            held.lowerBound < min(offset, held.upperBound)
            ? "; the topic still holds them from offset \(held.lowerBound)" : ""
        return "what became of \(Quantity.counted(offset, "offset")) before it is not known" + still
    }
}
