import AppStore
package import Kafka

extension KafkaHeader {
    /// Names the request that waits for a record's outcome.
    package static let correlationID = Array("correlation-id".utf8)
    /// W3C Trace Context.
    package static let traceparent = Array("traceparent".utf8)
}

extension [KafkaHeader] {
    /// The headers that go with a record from `raw` to the end.
    ///
    /// Of each name the first counts, where it is short text: they are repeated in all that a body
    /// brings out.
    package var travelling: [KafkaHeader] {
        [KafkaHeader.correlationID, KafkaHeader.traceparent].compactMap { name in
            first { $0.nameBytes == name }
        }
        .filter { ShortText.isAcceptable($0.value ?? []) }
    }

    /// How many headers of these names do not go on.
    package var refusedTravelling: Int {
        let named = reduce(0) { count, header in
            let isNamed =
                header.nameBytes == KafkaHeader.correlationID
                || header.nameBytes == KafkaHeader.traceparent
            return isNamed ? count + 1 : count
        }
        return named == 0 ? 0 : named - travelling.count
    }
}
