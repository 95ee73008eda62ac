/// What a consumer group has committed for a partition.
package struct CommittedOffset: Sendable, Equatable {
    /// Where consumption resumes; nil when the group has committed nothing yet.
    package let offset: Int64?
    /// The text committed with it, empty when there was none.
    package let metadata: String

    package init(offset: Int64?, metadata: String) {
        self.offset = offset
        self.metadata = metadata
    }
}
