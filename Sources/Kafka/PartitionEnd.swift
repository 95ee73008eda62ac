/// The end of a partition's log as a consumer of committed records has reached it.
package struct PartitionEnd: Sendable, Equatable {
    package let partition: TopicPartition
    /// The offset at which reading goes on: what lies below it and was not returned, holds no
    /// record.
    package let offset: Int64

    package init(partition: TopicPartition, offset: Int64) {
        self.partition = partition
        self.offset = offset
    }
}
