/// The name, topics and dispositions of a stage, for the loop and the operators' tools.
///
/// Topics are named without the prefix that the settings give them.
package struct StageDescription: Sendable {
    package let name: String
    /// The topic that the stage reads.
    package let inputTopic: String
    /// Whether the stage reads observations, and not bodies that any client may have posted.
    package let readsObservations: Bool
    /// The topic of forwarded records; nil for the last stage.
    package let outputTopic: String?
    /// Further topics that the stage writes, without dead letters and outcomes.
    package let otherTopics: [String]
    /// Whether records are refused, and answered where somebody waits for them.
    package let refusesRecords: Bool
    /// The possible dispositions of a record, in the order of reports.
    package let dispositions: [Disposition]
    /// The name of the program that runs the stage, also in Kafka and PostgreSQL.
    package let program: String

    /// - Parameters:
    ///   - dispositions: the stage's own; those that every stage has follow them.
    ///   - program: the stage's name and `-worker` unless given.
    package init(
        name: String, inputTopic: String, readsObservations: Bool, outputTopic: String?, otherTopics: [String] = [],
        refusesRecords: Bool = true, dispositions: [Disposition], program: String? = nil
    ) {
        self.name = name
        self.inputTopic = inputTopic
        self.readsObservations = readsObservations
        self.outputTopic = outputTopic
        self.otherTopics = otherTopics
        self.refusesRecords = refusesRecords
        self.dispositions = dispositions + Disposition.common
        self.program = program ?? "\(name)-worker"
    }

    /// The topics that the stage writes, without dead letters.
    package var writtenTopics: [String] {
        [outputTopic].compactMap(\.self) + otherTopics + (refusesRecords ? [Topic.outcomes] : [])
    }

    /// Counts with their dispositions, in the order of reports; those that are zero are left out.
    package func sorted(_ counts: [Disposition: Int64]) -> [(disposition: Disposition, count: Int64)] {
        dispositions.compactMap { disposition in counts[disposition].map { (disposition, $0) } }
    }
}

extension StageDescription: Hashable, CustomStringConvertible {
    /// Stages are distinguished by their names.
    package static func == (left: Self, right: Self) -> Bool { left.name == right.name }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }

    package var description: String { name }
}

/// The result of a stage for a record; each record has exactly one.
///
/// A stage's description lists its own dispositions; two dispositions of one name are the same.
package struct Disposition: Sendable {
    /// A word in snake case, as commits, metrics and reports spell it.
    package let name: String
    /// Explanation for reports: `known already`.
    package let meaning: String

    package init(_ name: String, _ meaning: String) {
        self.name = name
        self.meaning = meaning
    }

    /// The record was refused and is on the dead-letter topic.
    package static let deadLettered = Disposition("dead_lettered", "refused")
    /// An offset that retention removed before it was read.
    package static let skipped = Disposition("skipped", "offsets removed before they were read")
    /// An offset that the log holds and no reader gets: a control record, or one that was aborted.
    package static let control = Disposition("control", "offsets of transactions, no records")

    /// The dispositions of every stage.
    static let common = [deadLettered, skipped, control]
}

extension Disposition: Hashable, CustomStringConvertible {
    package static func == (left: Self, right: Self) -> Bool { left.name == right.name }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }

    package var description: String { name }
}
