/// One signed statement about an ID, as far as the deduplication needs it.
package struct PartRevision: Hashable, Sendable {
    package var track: Track
    package var revision: Revision
    /// Nil for all but a transaction, and in environments that reuse transaction IDs: nothing
    /// conflicts there.
    package var identity: TransactionIdentity?

    package init(
        track: Track = .jws,
        revision: Revision,
        identity: TransactionIdentity? = nil
    ) {
        self.track = track
        self.revision = revision
        self.identity = identity
    }
}

extension PartRevision {
    /// Compares a part with what is known of its ID.
    ///
    /// - Parameter known: the revisions of this ID in any order: those remembered, those in hand
    ///   and those earlier in the batch, of either track. None means that the ID is new.
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
    /// The table of the deduplication, for one ID and track.
    func verdict(against newest: Revision) -> PartVerdict {
        if contentHash == newest.contentHash {
            return signedDate > newest.signedDate ? .refreshed : .duplicate
        }
        return self > newest ? .new : .superseded
    }
}
