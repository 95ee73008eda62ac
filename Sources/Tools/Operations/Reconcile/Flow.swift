import Commands
package import Records

/// The records that stages count as written to a topic, compared with the topic itself.
///
/// The topic may contain more records: a stage that is killed between an acknowledgement and its
/// commit writes again, and link observations have no input record. Fewer records mean a loss. Only
/// the exact count finds losses that are hidden by as many repetitions.
package struct Flow: Hashable, Sendable {
    package let writers: [StageDescription]
    package let topic: String
    /// Number of records by the writers' tallies.
    package let counted: Int64
    /// Number of records that were ever written to the topic, by its offsets.
    package let given: Int64
    /// Number of records that retention has left in the topic.
    package let held: Int64
    /// Whether the tallies began with the writers' input, so that no earlier record was written.
    package let isCountedFromStart: Bool
    /// The exact count of each writer's outputs; empty unless requested.
    package var exact: [ExactCount] = []

    /// Number of records that no tally counts.
    ///
    /// `nil` if such records may be older than the tallies.
    package var beyond: Int64? { isCountedFromStart ? max(0, given - counted) : nil }

    package var problems: [String] { [problem].compactMap { $0 } + exact.flatMap { $0.problems(topic) } }

    package var problem: String? {
        guard given < counted else { return nil }
        let names = writers.map(\.name).joined(separator: ", ")
        return "\(topic): \(names) counted \(Quantity.counted(counted, "record")) written, but it "
            + "was given \(Quantity.grouped(given))"
    }
}

/// The exact count of one stage's outputs in a topic: each is counted once, by its input's position.
///
/// Repetitions after a crash have the same position as the first output, so they hide no loss.
package struct ExactCount: Hashable, Sendable {
    /// A partition of the stage's input.
    package struct Partition: Hashable, Sendable {
        package let partition: Int32
        /// Number of written records by the tally.
        package let counted: Int64
        /// Number of distinct outputs of settled records in the topic.
        package let found: Int64
    }

    package let writer: StageDescription
    /// The topic that the writer reads.
    package let input: String
    package let partitions: [Partition]
    /// Number of repeated records.
    package let repeated: Int64
    /// Number of outputs of a former topic with the same name and offsets.
    package let former: Int64
    /// Number of records that retention has removed from the topic; if not 0, the count proves nothing.
    package let removed: Int64

    package var found: Int64 { partitions.reduce(0) { $0 + $1.found } }

    /// Number of outputs that the tallies do not count.
    ///
    /// A worker that was stopped between writing and commit wrote them, and the record had another
    /// disposition when it was read again: in `dedupe` it is then a duplicate of itself. Tallies do
    /// not identify these records, so in the same partition each may hide a lost record, which is
    /// then neither counted here nor reported as a problem.
    package var beyond: Int64 { partitions.reduce(0) { $0 + max(0, $1.found - $1.counted) } }

    /// Describes partitions with fewer outputs than counted.
    package func problems(_ topic: String) -> [String] {
        guard removed == 0 else { return [] }
        return partitions.filter { $0.found < $0.counted }.map { partition in
            "\(topic): \(writer.name) counted " + "\(Quantity.counted(partition.counted, "record")) written for "
                + "\(input)[\(partition.partition)], and \(Quantity.grouped(partition.found)) are "
                + "there: \(Quantity.grouped(partition.counted - partition.found)) lost"
        }
    }

    /// Returns the count as a line of text.
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
