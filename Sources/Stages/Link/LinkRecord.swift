import AppStore
import Kafka

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
}
