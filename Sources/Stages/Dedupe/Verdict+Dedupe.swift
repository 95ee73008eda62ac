import AppStore
import Entitlements
import Kafka
import Records
import Topology
import Worker

extension Verdict {
    init(_ decision: DedupeDecision, on record: ConsumerRecord, uniqueTopic: String) {
        switch decision {
        case .forwarded:
            self.init(.forwarded, outputs: [record.forwarded(to: uniqueTopic)])
        case .refreshed:
            self.init(.refreshed, outputs: [record.forwarded(to: uniqueTopic)])
        case .superseded:
            self.init(.superseded, outputs: [record.forwarded(to: uniqueTopic)])
        case .duplicate:
            let isAwaited = record.correlationID != nil
            let answered = isAwaited ? try? record.marked(for: uniqueTopic) : nil
            self.init(.duplicate, outputs: answered.map { [$0] } ?? [])
        case .conflict(let field):
            self = .deadLettered(
                record,
                .transactionConflict,
                "\(field.rawValue) differs from what is known of this transaction"
            )
        }
    }
}

extension ConsumerRecord {
    /// The same record, byte for byte.
    fileprivate func forwarded(to topic: String) -> ProducerRecord {
        ProducerRecord(topic: topic, key: key, value: value, headers: headers)
    }
}
