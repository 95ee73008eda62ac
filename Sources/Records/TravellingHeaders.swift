import AppStore
package import Kafka

extension [KafkaHeader] {
    /// The headers that go with a record from `raw` to the end.
    ///
    /// Of each name the first counts, where it is short text: they are repeated in all that a body
    /// brings out.
    package var travelling: [KafkaHeader] {
        [RecordHeader.correlationID, RecordHeader.traceparent].compactMap { name in
            first { $0.nameBytes == name }
        }
        .filter { ShortText.isAcceptable($0.value ?? []) }
    }

    /// How many headers of these names do not go on.
    package var refusedTravelling: Int {
        let named = reduce(0) { count, header in
            let isNamed =
                header.nameBytes == RecordHeader.correlationID
                || header.nameBytes == RecordHeader.traceparent
            return isNamed ? count + 1 : count
        }
        return named == 0 ? 0 : named - travelling.count
    }
}

extension ConsumerRecord {
    /// Names the request that waits for the record's outcome; nil where nobody waits.
    package var correlationID: [UInt8]? {
        headers.travelling.first { $0.nameBytes == RecordHeader.correlationID }.flatMap(\.value)
    }
}
