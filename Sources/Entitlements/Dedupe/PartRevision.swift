/// One signed statement about an ID, reduced to the fields that the deduplication compares.
package struct PartRevision: Hashable, Sendable {
    package var track: Track
    package var revision: Revision
    /// Nil for all but a transaction, and in environments that reuse transaction IDs: nothing
    /// conflicts there.
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
    /// - Parameter known: the revisions of this ID in any order, from either track: remembered, in
    ///   flight and earlier in the batch. If empty, the ID is new.
    package func verdict(against known: [PartRevision]) -> PartVerdict {
        if let field = conflict(with: known) {
            return .conflict(field)
        }
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
            if let field = identity.conflict(with: otherIdentity) {
                return field
            }
        }
        return nil
    }
}

extension Revision {
    /// The decision table of the deduplication, for one ID and track.
    func verdict(against newest: Revision) -> PartVerdict {
        if contentHash == newest.contentHash {
            return signedDate > newest.signedDate ? .refreshed : .duplicate
        }
        return self > newest ? .new : .superseded
    }
}
