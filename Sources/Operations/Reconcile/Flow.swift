package import Worker

/// What stages say they have written to a topic against what the topic was given.
///
/// The topic may have been given more: a stage that is killed between an acknowledgement and its
/// commit writes again, and link observations answer no record. Less would be a loss; as many
/// losses as there is more are seen by the exact count alone.
package struct Flow: Hashable, Sendable {
    package let writers: [StageDescription]
    package let topic: String
    /// What the writers' tallies have counted.
    package let counted: Int64
    /// What the topic was ever given, by its offsets.
    package let given: Int64
    /// What it holds now, retention having removed the rest.
    package let held: Int64
    /// Whether the tallies began with the writers' input, so that nothing was given before them.
    package let isCountedFromStart: Bool
    /// Each writer's outputs counted once, by the input they were made of; empty where that was not
    /// asked for.
    package var exact: [ExactCount] = []

    package init(
        writers: [StageDescription],
        topic: String,
        counted: Int64,
        given: Int64,
        held: Int64,
        isCountedFromStart: Bool
    ) {
        self.writers = writers
        self.topic = topic
        self.counted = counted
        self.given = given
        self.held = held
        self.isCountedFromStart = isCountedFromStart
    }

    /// What no tally accounts for; nil where it may be older than the tallies.
    package var beyond: Int64? {
        isCountedFromStart ? max(0, given - counted) : nil
    }

    package var problems: [String] {
        [problem].compactMap { $0 } + exact.flatMap { $0.problems(topic) }
    }

    package var problem: String? {
        guard given < counted else { return nil }
        let names = writers.map(\.name).joined(separator: ", ")
        return "\(topic): \(names) counted \(Quantity.counted(counted, "record")) written, but it "
            + "was given \(Quantity.grouped(given))"
    }
}
