/// The name, topics and dispositions of a stage, for the loop and the operators' tools.
///
/// The topics' names lack the prefix from the settings.
package struct StageDescription: Sendable {
    package let name: String
    /// The topic that the stage reads.
    package let inputTopic: String
    /// Whether the stage reads observations; otherwise it reads bodies, which any client may have sent.
    package let readsObservations: Bool
    /// The topic of forwarded records.
    ///
    /// `nil` for the last stage.
    package let outputTopic: String?
    /// Further topics that the stage writes, except dead letters and outcomes.
    package let otherTopics: [String]
    /// Whether the stage refuses records, and answers waiting requests about them.
    package let refusesRecords: Bool
    /// The possible dispositions of a record, in the order of reports.
    package let dispositions: [Disposition]
    /// The name of the program that runs the stage, used also in Kafka and PostgreSQL.
    package let program: String

    /// - Parameters:
    ///   - dispositions: the stage's own dispositions; the common dispositions follow them.
    ///   - program: the program's name, by default the stage's name with `-worker`.
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

    /// The topics that the stage writes, except dead letters.
    package var writtenTopics: [String] {
        [outputTopic].compactMap(\.self) + otherTopics + (refusesRecords ? [Topic.outcomes] : [])
    }

    /// Returns the counts with their dispositions, in the order of reports, without counts of zero.
    package func sorted(_ counts: [Disposition: Int64]) -> [(disposition: Disposition, count: Int64)] {
        dispositions.compactMap { disposition in counts[disposition].map { (disposition, $0) } }
    }
}

extension StageDescription: Hashable, CustomStringConvertible {
    /// Compares stages by their names.
    package static func == (left: Self, right: Self) -> Bool { left.name == right.name }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }

    package var description: String { name }
}

/// The result of a stage for a record; each record has exactly one.
///
/// A stage's description lists its own dispositions; dispositions with the same name are equal.
package struct Disposition: Sendable {
    /// The word in snake case that commits, metrics and reports use.
    package let name: String
    /// The explanation in reports, such as `known already`.
    package let meaning: String

    package init(_ name: String, _ meaning: String) {
        self.name = name
        self.meaning = meaning
    }

    /// The record was refused and is on the dead-letter topic.
    package static let deadLettered = Disposition("dead_lettered", "refused")
    /// An offset that retention removed before it was read.
    package static let skipped = Disposition("skipped", "offsets removed before they were read")
    /// An offset in the log that no reader gets: a control record, or an aborted record.
    package static let control = Disposition("control", "offsets of transactions, no records")

    /// The dispositions of every stage.
    static let common = [deadLettered, skipped, control]
}

extension Disposition: Hashable, CustomStringConvertible {
    package static func == (left: Self, right: Self) -> Bool { left.name == right.name }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }

    package var description: String { name }
}
