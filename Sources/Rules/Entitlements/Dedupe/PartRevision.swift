/// A signed statement about an ID, reduced to the fields that the deduplication compares.
package struct PartRevision: Hashable, Sendable {
    package var track: Track
    package var revision: Revision
    /// The immutable fields of a transaction.
    ///
    /// `nil` for other facts, and in environments that reuse transaction IDs; these facts never conflict.
    package var identity: TransactionIdentity?

    package init(track: Track = .jws, revision: Revision, identity: TransactionIdentity? = nil) {
        self.track = track
        self.revision = revision
        self.identity = identity
    }
}

extension PartRevision {
    /// Compares a part with the known revisions of its ID.
    ///
    /// - Parameter known: the revisions of this ID, in any order and from both tracks: the stored ones, those in
    ///   flight and those earlier in the batch. Empty if the ID is new.
    package func verdict(against known: [PartRevision]) -> PartVerdict {
        // Both tracks must agree on immutable fields; revisions compare within one track only.
        if let field = conflict(with: known) { return .conflict(field) }
        var newest: Revision?
        for other in known where other.track == track {
            newest = newest.map { max($0, other.revision) } ?? other.revision
        }
        guard let newest else { return .new }
        return revision.verdict(against: newest)
    }

    private func conflict(with known: [PartRevision]) -> ImmutableField? {
        guard let identity else { return nil }
        for other in known {
            guard let otherIdentity = other.identity else { continue }
            if let field = identity.conflict(with: otherIdentity) { return field }
        }
        return nil
    }
}

extension Revision {
    /// The decision table of the deduplication, for one ID and track.
    func verdict(against newest: Revision) -> PartVerdict {
        if contentHash == newest.contentHash { return signedDate > newest.signedDate ? .refreshed : .duplicate }
        return self > newest ? .new : .superseded
    }
}
