import Kafka

/// What has become of polled records when they were taken in hand.
struct TakenRecords: Sendable {
    /// Those to be worked on; empty when all belonged to partitions that are being given up.
    let batch: Batch
    /// Offsets that held no record.
    let gaps: [OffsetGap]
    /// Partitions whose log has gone back.
    let rewound: [TopicPartition]
}
