import AppStore
import Kafka
import Records

/// One record of a batch, read.
///
/// Large and handed around, so it is referred to and not copied.
final class LinkRecord: Sendable {
    let subject: LinkSubject
    private let record: ConsumerRecord
    private let observation: Observation

    init(record: ConsumerRecord, subject: LinkSubject, observation: Observation) {
        self.record = record
        self.subject = subject
        self.observation = observation
    }

    /// The same observation with its owner.
    func forwarded(to topic: String, owner: ObservedOwner) -> ProducerRecord {
        observation.owned(by: owner, record, for: topic)
    }
}
