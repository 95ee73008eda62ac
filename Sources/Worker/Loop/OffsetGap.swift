import Kafka

/// Offsets that hold no record: retention overtook the consumer, or control records and aborted
/// transactions stand there.
struct OffsetGap: Equatable, Sendable {
    let partition: TopicPartition
    /// The offset that follows: a record's, or the end of the log.
    let before: Int64
    let count: Int64

    var first: Int64 { before - count }
}
