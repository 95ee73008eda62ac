import Kafka

/// One assignment of a partition to this worker.
///
/// A partition that was taken away and given back has another claim: what was in hand under the
/// former one can no longer be settled, so nothing revoked or lost is ever committed.
struct PartitionClaim: Hashable, Sendable {
    let partition: TopicPartition
    let epoch: UInt64
}
