import Kafka

/// What the polling task has to remember between its turns.
struct PollingState: Sendable {
    /// An assignment whose committed offsets have been asked for.
    struct Assignment: Sendable {
        let claims: [PartitionClaim]
        let committed: [TopicPartition: CommittedOffset]
    }

    /// A revocation that waits for what is in hand.
    struct Revocation: Sendable {
        let partitions: [TopicPartition]
        let deadline: ContinuousClock.Instant
    }

    /// Whether the partitions are paused, because there has been no room for a while.
    var isPaused = false
    /// Since when there has been no room.
    var fullSince: ContinuousClock.Instant?
    /// To be answered at the next turn.
    var loaded: [Assignment] = []
    var revocations: [Revocation] = []
    /// Partitions to be read again from these offsets.
    var rewinds: [TopicPartition: Int64] = [:]
    /// Whether the missing of a topic has been said.
    var missingTopics: Set<String> = []
    /// The names of errors by which Kafka has refused this worker, each said once.
    var refusals: Set<String> = []
}
