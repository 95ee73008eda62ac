package import Kafka

/// Makes the dead letter of a record, without doing anything with it.
package protocol DeadLetterWriting: Sendable {
    /// - Parameter value: `omitted` once the broker has refused the letter for its size.
    func letter(
        for record: ConsumerRecord,
        _ facts: DeadLetterFacts,
        value: DeadLetterValue
    ) -> ProducerRecord
}
