import AppStore
import Kafka
import Records
import TestSupport

extension Observation {
    /// The observation as a record of a topic.
    func record(at offset: Int64, headers: [KafkaHeader] = []) -> ConsumerRecord {
        let written = record(for: "storekit.linked", headers: headers)
        return ConsumerRecord(written, at: offset)
    }
}
