import Commands
package import Records

/// The records that stages count as written to a topic, compared with the topic itself.
///
/// The topic may hold more: a stage that is killed between an acknowledgement and its commit writes
/// again, and link observations answer no record. Fewer would be a loss. Losses that are hidden by
/// as many repetitions are found by the exact count alone.
package struct Flow: Hashable, Sendable {
    package let writers: [StageDescription]
    package let topic: String
    /// The count of the writers' tallies.
    package let counted: Int64
    /// All records that were ever written to the topic, by its offsets.
    package let given: Int64
    /// The records that retention has left in it.
    package let held: Int64
    /// Whether the tallies began with the writers' input, so that nothing was given before them.
    package let isCountedFromStart: Bool
    /// Each writer's outputs counted once, by the input they were made of; empty if that was not
    /// asked for.
    package var exact: [ExactCount] = []

    /// Records that no tally accounts for; nil if they may be older than the tallies.
    package var beyond: Int64? { isCountedFromStart ? max(0, given - counted) : nil }

    package var problems: [String] { [problem].compactMap { $0 } + exact.flatMap { $0.problems(topic) } }

    package var problem: String? {
        guard given < counted else { return nil }
        let names = writers.map(\.name).joined(separator: ", ")
        return "\(topic): \(names) counted \(Quantity.counted(counted, "record")) written, but it "
            + "was given \(Quantity.grouped(given))"
    }
}

/// The outputs of one stage in a topic, each counted once by the position of its input.
///
/// Repetitions after a crash have the position of the first writing, so that they hide no loss.
package struct ExactCount: Hashable, Sendable {
    /// A partition of the stage's input.
    package struct Partition: Hashable, Sendable {
        package let partition: Int32
        /// The number of written records by the tally.
        package let counted: Int64
        /// The distinct outputs of settled records that the topic holds.
        package let found: Int64
    }

    package let writer: StageDescription
    /// The topic that the writer reads.
    package let input: String
    package let partitions: [Partition]
    /// Records that were written more than once.
    package let repeated: Int64
    /// Outputs of records of a former topic of the same name, which has had the same offsets.
    package let former: Int64
    /// Records that retention has removed from the topic: with any, nothing is proved.
    package let removed: Int64

    package var found: Int64 { partitions.reduce(0) { $0 + $1.found } }

    /// Outputs that the tallies do not count.
    ///
    /// A worker that was stopped between writing and commit wrote them, and the record ended
    /// otherwise when it was read again: in `dedupe` as a duplicate of what it had brought itself.
    /// Tallies do not say which records these are, so in the same partition each may stand in for
    /// a lost one, which is then neither here nor among the problems.
    package var beyond: Int64 { partitions.reduce(0) { $0 + max(0, $1.found - $1.counted) } }

    /// Partitions of which fewer outputs are there than were counted.
    package func problems(_ topic: String) -> [String] {
        guard removed == 0 else { return [] }
        return partitions.filter { $0.found < $0.counted }.map { partition in
            "\(topic): \(writer.name) counted " + "\(Quantity.counted(partition.counted, "record")) written for "
                + "\(input)[\(partition.partition)], and \(Quantity.grouped(partition.found)) are "
                + "there: \(Quantity.grouped(partition.counted - partition.found)) lost"
        }
    }

    /// The count as a line for people.
    func line(_ topic: String) -> String {
        guard removed == 0 else {
            return "\(topic): retention has removed \(Quantity.counted(removed, "record")), so the "
                + "exact count proves nothing"
        }
        let rest = beyond == 0 ? "" : "; \(Quantity.grouped(beyond)) that are not counted could hide losses"
        let old = former == 0 ? "" : "; \(Quantity.grouped(former)) made of a former \(input)"
        return "\(topic) from \(writer.name): \(Quantity.grouped(found)) distinct, "
            + "\(Quantity.grouped(repeated)) written again" + rest + old
    }
}
