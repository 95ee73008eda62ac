/// What became of the records of one delivery, by their place in it.
package struct DeliveryReport: Sendable, Equatable {
    /// The offset of each record; -1 where it failed, or where the broker had it already when it
    /// was sent again and tells no offset.
    package let offsets: [Int64]
    /// Why records failed, by index; empty when all are acknowledged by all in-sync replicas.
    package let failures: [Int: KafkaError]

    package init(offsets: [Int64], failures: [Int: KafkaError]) {
        self.offsets = offsets
        self.failures = failures
    }

    package var isComplete: Bool { failures.isEmpty }
}
