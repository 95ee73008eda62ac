/// What is to be committed for a partition: both reach the broker in one step or not at all.
package struct OffsetCommit: Sendable, Equatable {
    /// Where consumption resumes: the last settled offset plus one.
    package let offset: Int64
    /// At most 4,096 characters, a broker's default limit.
    package let metadata: String

    package init(offset: Int64, metadata: String) {
        self.offset = offset
        self.metadata = metadata
    }
}
