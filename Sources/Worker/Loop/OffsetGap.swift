import Kafka

/// Offsets before a record that hold none.
struct OffsetGap: Equatable, Sendable {
    let partition: TopicPartition
    /// The record that follows.
    let before: Int64
    let count: Int64
}
