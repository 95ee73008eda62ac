package import Records

/// The stages from a raw body to rows, each with its topics and dispositions.
///
/// This is the only list of all stages, for the operators' tools, the demo and the benchmarks.
/// Workers do not need it, because each uses its stage's description.
package enum Topology {
    /// The stages, in the order in which a record passes through them.
    package static let stages: [StageDescription] = [.verify, .dedupe, .link, .entitle]
}

extension StageDescription {
    /// Turns bodies into observations.
    package static let verify = StageDescription(
        name: "verify", inputTopic: Topic.raw, readsObservations: false, outputTopic: Topic.verified,
        dispositions: [.forwarded, .ignored])

    /// Drops observations without new information.
    package static let dedupe = StageDescription(
        name: "dedupe", inputTopic: Topic.verified, readsObservations: true, outputTopic: Topic.unique,
        dispositions: [.forwarded, .refreshed, .superseded, .duplicate])

    /// Finds the owners of purchases.
    package static let link = StageDescription(
        name: "link", inputTopic: Topic.unique, readsObservations: true, outputTopic: Topic.linked,
        dispositions: [.resolved, .unresolved])

    /// Writes facts, rows and the feed of changes.
    package static let entitle = StageDescription(
        name: "entitle", inputTopic: Topic.linked, readsObservations: true, outputTopic: nil,
        otherTopics: [Topic.changed, Topic.current], dispositions: [.applied, .unchanged, .recorded])
}

extension StageDescription {
    /// Asks Apple's server for data that never arrived, and reads the outcomes of its records.
    ///
    /// The stage is not on a record's path, so `Topology.stages` does not contain it.
    package static let recovery = StageDescription(
        name: "recovery", inputTopic: Topic.outcomes, readsObservations: false, outputTopic: nil,
        otherTopics: [Topic.raw], refusesRecords: false, dispositions: [.settled, .others])
}

extension StageDescription {
    /// Keeps the index of dead letters.
    ///
    /// It refuses nothing, because its refusals would be its own input. The stage is not on a
    /// record's path, so `Topology.stages` does not contain it.
    package static let deadLetterIndex = StageDescription(
        name: "dead-letter-index", inputTopic: Topic.deadLetter, readsObservations: false, outputTopic: nil,
        refusesRecords: false, dispositions: [.indexed, .foreign], program: "dead-letter-index")
}

extension Disposition {
    package static let indexed = Disposition("indexed", "dead letters that the index holds")
    package static let foreign = Disposition("foreign", "no dead letters, or none that PostgreSQL accepts")

    package static let settled = Disposition("settled", "answers about what was recovered")
    package static let others = Disposition("others", "answers to others")

    /// A forwarded record; in the stage verify with its number of observations, in dedupe because
    /// it has new information.
    package static let forwarded = Disposition("forwarded", "say something new")
    /// A response without items, or signed data of a kind that cannot be recorded.
    package static let ignored = Disposition("ignored", "nothing in them to record")

    package static let refreshed = Disposition("refreshed", "the same state, signed again; the date goes on")
    package static let superseded = Disposition("superseded", "older than what is known; goes on as history")
    package static let duplicate = Disposition("duplicate", "known already")

    package static let resolved = Disposition("resolved", "the user is known")
    package static let unresolved = Disposition("unresolved", "nobody is linked to the purchase yet")

    package static let applied = Disposition("applied", "rows became different")
    package static let unchanged = Disposition("unchanged", "known to the database already")
    package static let recorded = Disposition("recorded", "history alone, no fact in them")
}
