/// How a record ends in a stage; each ends in exactly one.
///
/// A stage's description lists its own; two dispositions of one name are the same.
package struct Disposition: Sendable {
    /// One word in snake case, as commits, metrics and reports spell it.
    package let name: String
    /// What it says of the records, for reports: `known already`.
    package let meaning: String

    package init(_ name: String, _ meaning: String) {
        self.name = name
        self.meaning = meaning
    }

    /// Refused; the record is on the dead-letter topic.
    package static let deadLettered = Disposition("dead_lettered", "refused")
    /// An offset that held no record: retention overtook the consumer, or a control record.
    package static let skipped = Disposition("skipped", "offsets without a record")

    /// What every stage has.
    static let common = [deadLettered, skipped]
}

extension Disposition: Hashable, CustomStringConvertible {
    package static func == (left: Self, right: Self) -> Bool { left.name == right.name }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(name)
    }

    package var description: String { name }
}
