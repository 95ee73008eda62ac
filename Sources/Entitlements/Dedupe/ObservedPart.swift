/// One part of an observation: what it is about, and which revision of it.
package struct ObservedPart: Hashable, Sendable {
    package var key: PartKey
    package var revision: PartRevision

    package init(key: PartKey, revision: PartRevision) {
        self.key = key
        self.revision = revision
    }

    /// Judges the part against what is known of its ID.
    ///
    /// Beside a transaction the first record that names a user says it all, and an earlier one of
    /// the same user matters only for who was first.
    package func verdict(against known: [PartRevision]) -> PartVerdict {
        guard case .claim = key else { return revision.verdict(against: known) }
        guard let earliest = known.map(\.revision).max() else { return .new }
        return revision.revision > earliest ? .refreshed : .duplicate
    }
}
