import AppStore
import Entitlements
import Kafka
import Records
import Topology
import Worker

extension Verdict {
    /// - Parameter inputRange: the range of the observation in the record.
    init(_ decision: DedupeDecision, on record: ConsumerRecord, _ inputRange: Range<Int>?, to uniqueTopic: String)
        throws(ObservationError)
    {
        func forwarded() throws(ObservationError) -> [ProducerRecord] {
            [try record.forwarded(to: uniqueTopic, inputRange)]
        }
        switch decision {
        case .forwarded: self.init(.forwarded, outputs: try forwarded())
        case .refreshed: self.init(.refreshed, outputs: try forwarded())
        case .superseded: self.init(.superseded, outputs: try forwarded())
        case .duplicate where record.isReplayed:
            // The content is known, but a later stage may have refused it.
            self.init(.forwarded, outputs: try forwarded())
        case .duplicate:
            let isAwaited = record.correlationID != nil
            self.init(.duplicate, outputs: isAwaited ? [try record.marked(for: uniqueTopic, inputRange)] : [])
        case .conflict(let field):
            self = .deadLettered(
                record, .transactionConflict, detail: "\(field.rawValue) differs from what is known of this transaction"
            )
        }
    }
}
