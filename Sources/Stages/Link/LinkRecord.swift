import AppStore
import Entitlements
import Kafka
import Worker

/// One record of a batch, read.
struct LinkRecord {
    let record: ConsumerRecord
    let subject: LinkSubject
    let observation: Observation

    /// The same observation with its owner.
    func forwarded(to topic: String, owner: ObservedOwner) -> ProducerRecord {
        var observation = observation
        observation.owner = owner
        return ProducerRecord(
            topic: topic,
            key: record.key,
            value: observation.encode(),
            headers: record.headers
        )
    }

    /// Tells of a purchase that has another owner because of this record, or of one before it.
    ///
    /// Nobody waits for an answer to it, so it carries no correlation ID.
    func relinked(_ relink: Relink, to topic: String) -> ProducerRecord {
        let relinked = Observation(
            source: observation.source,
            environment: relink.key.environment,
            bundleID: relink.key.bundleID,
            verification: observation.verification,
            owner: relink.owner,
            relinkedPurchase: relink.key.originalTransactionID
        )
        return ProducerRecord(
            topic: topic,
            key: relinked.partitionKey,
            value: relinked.encode(),
            headers: record.headers.filter { $0.nameBytes == KafkaHeader.traceparent }
        )
    }
}
