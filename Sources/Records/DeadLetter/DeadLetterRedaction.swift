package import AppStore
package import Kafka

/// Has the original removed from a dead letter: a later letter of the same ID, which counts from
/// then on, with the same link and without the original.
///
/// The link still says what was there: it covers the SHA-256 of the value, and of key and headers.
/// The earlier record stays in Kafka's log until the topic's retention removes it; no record of a
/// log can be removed alone.
package enum DeadLetterRedaction {
    /// - Parameters:
    ///   - record: the dead letter as it lies in its topic.
    ///   - by: who had it removed.
    ///   - why: bounded to what a header should hold.
    package static func record(
        of record: ConsumerRecord,
        by who: String,
        why: String,
        at now: Timestamp
    ) -> ProducerRecord {
        let kept = record.headers.filter { header in
            header.movedBack == nil && !removed.contains(header.name)
                && !header.name.hasPrefix(unverifiedPrefix)
        }
        return ProducerRecord(
            topic: record.topicPartition.topic,
            partition: record.topicPartition.partition,
            headers: kept + [
                KafkaHeader(
                    name: DeadLetterHeader.value,
                    text: DeadLetterValue.redacted.rawValue
                ),
                KafkaHeader(name: DeadLetterHeader.redactedBy, text: who),
                KafkaHeader(
                    name: DeadLetterHeader.redactedWhy,
                    text: DeadLetterWriter.bounded(why, DeadLetterWriter.detailBytesMax)
                ),
                KafkaHeader(name: DeadLetterHeader.redactedAt, text: now.description),
            ]
        )
    }

    /// What the original says of itself goes with it.
    private static let unverifiedPrefix = "dlq.unverified."
    private static let removed: Set = [
        DeadLetterHeader.value, DeadLetterHeader.omitted, DeadLetterHeader.redactedBy,
        DeadLetterHeader.redactedWhy, DeadLetterHeader.redactedAt,
    ]
}
