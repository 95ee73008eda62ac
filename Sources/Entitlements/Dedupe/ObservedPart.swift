/// One part of an observation: what it is about, and which revision of it.
package struct ObservedPart: Hashable, Sendable {
    package var key: PartKey
    package var revision: PartRevision

    package init(key: PartKey, revision: PartRevision) {
        self.key = key
        self.revision = revision
    }
}
