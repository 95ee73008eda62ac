/// What the group's coordinator has decided about this consumer's partitions.
package enum RebalanceEvent: Sendable, Equatable {
    /// To be answered by `KafkaConsumer.assign(with:)`; until then nothing is fetched.
    case assigned([TopicPartition])
    /// To be answered by `KafkaConsumer.completeRevocation(_:)` once what is in hand is settled or
    /// given up. The group waits for it, at most `max.poll.interval.ms`.
    case revoking([TopicPartition])
    /// Gone already, perhaps to another member: nothing of them may be committed any more.
    case lost([TopicPartition])
}
