package import AppStore
package import Kafka
import OpenSSL

/// The removal of the original from a dead letter, by a later letter of the same ID and link without the original.
///
/// The later letter counts once its action is recorded.
///
/// The link still covers the SHA-256 of the value, and of key and headers. The earlier record stays in Kafka's log
/// until the topic's retention removes it, because a log does not allow the removal of a single record.
package enum DeadLetterRedaction {
    /// - Parameters:
    ///   - record: the dead letter as read from its topic.
    ///   - by: the person who ordered the removal.
    ///   - why: the reason, shortened to the limit of a header.
    package static func record(of record: ConsumerRecord, by who: String, why: String, at now: Timestamp)
        -> ProducerRecord
    {
        let kept = record.headers.filter { header in
            header.movedBack == nil && !removed.contains(header.name)
                && !header.name.hasPrefix(DeadLetterHeader.unverifiedPrefix)
                && !header.name.hasPrefix(DeadLetterHeader.redactedPrefix)
        }
        return ProducerRecord(
            topic: record.topicPartition.topic, partition: record.topicPartition.partition,
            headers: kept + [
                KafkaHeader(name: DeadLetterHeader.value, text: DeadLetterValue.redacted.rawValue),
                KafkaHeader(
                    name: DeadLetterHeader.redactedSHA256, text: DeadLetterLink.removableDigest(record.headers).hex),
                KafkaHeader(name: DeadLetterHeader.redactedBy, text: who),
                KafkaHeader(
                    name: DeadLetterHeader.redactedWhy,
                    text: DeadLetterWriter.bounded(why, DeadLetterWriter.detailBytesMax)),
                KafkaHeader(name: DeadLetterHeader.redactedAt, text: now.description),
            ])
    }

    private static let removed: Set = [DeadLetterHeader.value, DeadLetterHeader.omitted]
}
