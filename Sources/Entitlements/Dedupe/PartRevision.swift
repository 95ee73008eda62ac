/// One signed statement about an ID, as far as the deduplication needs it.
package struct PartRevision: Hashable, Sendable {
    package var track: Track
    package var revision: Revision
    /// Only a transaction has one.
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
